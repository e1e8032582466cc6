/* SPDX-License-Identifier: BSD-3-Clause */
/* Crashes in many ways, in rank 1 unless it is said otherwise; -O0 -g, for the tests name its lines.
 * usage: crashes WAY */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, size;
static volatile int zero;
static int* volatile nowhere;
static char helper[4096]; /* a command that crashes, too */

static void writes(void) {
  *nowhere = 3; /* LINE writes */
}
static void reduces(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)in, (void)inout, (void)length, (void)type;
  if (rank == 1) writes(); /* LINE reduces */
}
static int fills(int depth) {
  volatile char much[8192];
  much[0] = (char)depth;
  if (depth < 0) return 0;
  return fills(depth + 1) + much[0]; /* LINE fills */
}
static void* in_thread(void* unused) {
  writes(); /* LINE thread */
  return unused;
}
static void handles(int signal) {
  if (write(1, "mine\n", 5) == 5) _exit(signal);
}
static void bus(void) {
  FILE* const file = tmpfile();
  char* const memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
  memory[0] = 1; /* LINE bus */
}

static void crash(const char* way) {
  pthread_t thread;
  if (strcmp(way, "null") == 0 || strcmp(way, "all") == 0) writes(); /* LINE null */
  if (strcmp(way, "abort") == 0) abort();                            /* LINE abort */
  if (strcmp(way, "stack") == 0) fills(zero);
  if (strcmp(way, "divide") == 0) zero = 7 / zero;   /* LINE divide */
  if (strcmp(way, "illegal") == 0) __builtin_trap(); /* LINE illegal */
  if (strcmp(way, "bus") == 0) bus();
  if (strcmp(way, "jump") == 0) ((void (*)(void))nowhere)(); /* LINE jump */
  if (strcmp(way, "sent") == 0) kill(getpid(), SIGSEGV), pause();
  if (strcmp(way, "thread") == 0 && pthread_create(&thread, NULL, in_thread, NULL) == 0) pthread_join(thread, NULL);
  if (strcmp(way, "in_call") == 0) MPI_Send(nowhere + 4, 1000, MPI_INT, 0, 7, MPI_COMM_WORLD); /* LINE in_call */
  if (strcmp(way, "handler") == 0) signal(SIGSEGV, handles), writes();
  if (strcmp(way, "ignored") == 0) signal(SIGABRT, SIG_IGN), raise(SIGABRT);
  if (strcmp(way, "helper") == 0) {
    if (system(helper) == 0) exit(9);
    writes(); /* LINE helper */
  }
  if (strcmp(way, "child") == 0) {
    const pid_t child = fork();
    int status = 0;
    if (child == 0) writes();
    if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV) exit(9);
  }
}

int main(int argc, char** argv) {
  const char* const way = argc > 1 ? argv[1] : "";
  if (strcmp(way, "before") == 0) writes(); /* LINE before */
  snprintf(helper, sizeof helper, "'%s' before", argv[0]);
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD); /* LINE barrier */
  if (strcmp(way, "callback") == 0) {
    MPI_Op op;
    int mine = rank, all = 0;
    MPI_Op_create(reduces, 1, &op);
    MPI_Allreduce(&mine, &all, 1, MPI_INT, op, MPI_COMM_WORLD); /* LINE callback */
  }
  if (rank == 1 || strcmp(way, "all") == 0) crash(way); /* LINE crash */
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
