#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# loaded_late.sh BUILD: a program that runs already loads the library, as Python does, behind others that have taken a part of the
# room that the C library keeps for such (thread-locals that are found without a call; 1664 bytes of glibc's): they have 800.
# Another thread that was there before calls MPI, too.
set -u
build=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
fail() { echo "wrong: $*" >&2; exit 1; }
cd "$work" || exit 1

cat >neighbour.c <<'END'
static _Thread_local __attribute__((tls_model("initial-exec"))) char room[400];
char* touch(void) { return room; }
END
cat >late.c <<'END'
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
static void* mpi;
static sem_t loaded;
static void* other(void* unused) {
  (void)unused;
  sem_wait(&loaded);
  int known = 0, is_error = ((int (*)(int*))dlsym(mpi, "MPI_Initialized"))(&known);
  return is_error || !known ? (void*)1 : NULL;
}
static void* load(const char* file) {
  void* const library = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
  if (!library) printf("%s\n", dlerror());
  return library;
}
int main(int argc, char** argv) {
  pthread_t thread;
  void* failed = NULL;
  int provided = 0;
  sem_init(&loaded, 0, 0);
  if (argc != 2 || pthread_create(&thread, NULL, other, NULL)) return 2;
  if (!load("./one.so") || !load("./two.so") || !(mpi = load(argv[1]))) return 1;
  if (((int (*)(int*, char***, int, int*))dlsym(mpi, "MPI_Init_thread"))(NULL, NULL, MPI_THREAD_MULTIPLE, &provided)) return 1;
  sem_post(&loaded);
  pthread_join(thread, &failed);
  return ((int (*)(void))dlsym(mpi, "MPI_Finalize"))() || failed;
}
END
for name in one two; do cc -shared -fPIC neighbour.c -o $name.so || fail "$name.so does not compile"; done
cc -pthread -I"$build/include" late.c -o late -ldl || fail "late does not compile"
./late "$build/lib/libmpi_abi.so.1" || fail "the library cannot be loaded, or MPI does not work"
