// SPDX-License-Identifier: BSD-3-Clause
// departs HOW [FILE]: a program that prints without flushing, to standard output by both languages'
// means and to a file, and then leaves in one of many ways. For what it printed, and for what the
// other ranks learn of it. departs wrongly HOW: all ranks begin or end MPI as they may not.
#include <mpi.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace {

// Finalizes in a destructor that runs after everything that main registered for its exit.
struct AtTheVeryEnd {
  bool wanted = false;
  ~AtTheVeryEnd() {
    if (wanted) MPI_Finalize();
  }
} at_the_very_end;

void* keep_locked(void*) {
  flockfile(stdout);
  for (;;) pause();
}

void print_without_flushing(const char* file) {
  std::ios::sync_with_stdio(false);
  std::printf("kept by stdio\n");
  std::cout << "kept by C++\n";
  if (!file) return;
  std::FILE* out = std::fopen(file, "w");
  std::fprintf(out, "kept in a file\n");
}

// More than a pipe and its reader take, all of it in memory.
void print_more_than_fits() {
  static std::vector<char> buffer(64 << 20);
  std::setvbuf(stdout, buffer.data(), _IOFBF, buffer.size());
  const std::string line(1 << 20, 'x');
  for (int i = 0; i < 32; ++i) std::fputs(line.c_str(), stdout);
}

void* finalize(void* both) {
  pthread_barrier_wait(static_cast<pthread_barrier_t*>(both));
  MPI_Finalize();
  return nullptr;
}

// What no rank may do, and what all of them do here at once.
int start_or_end_wrongly(const std::string& how) {
  int rank, provided;
  if (how == "early") MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
  if (how == "init_twice") MPI_Init(nullptr, nullptr);
  if (how == "two_threads") {
    pthread_barrier_t both;
    pthread_barrier_init(&both, nullptr, 2);
    pthread_t other;
    pthread_create(&other, nullptr, finalize, &both);
    finalize(&both);
    pthread_join(other, nullptr);
  } else {
    MPI_Finalize();
  }
  if (how == "finalize_twice") MPI_Finalize();
  if (how == "init_again") MPI_Init(nullptr, nullptr);
  if (how == "late") MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  if (how == "wrongly") return start_or_end_wrongly(argv[2]);
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (how == "at_once") _exit(1);  // all ranks
  if (how == "stuck")
    print_more_than_fits();
  else
    print_without_flushing(argc > 2 && rank == 0 ? argv[2] : nullptr);
  int x = 0;
  if (how == "locked") {
    pthread_t thread;
    pthread_create(&thread, nullptr, keep_locked, nullptr);
    while (ftrylockfile(stdout) == 0) funlockfile(stdout), usleep(1000);
  }
  if (how == "finalize_late") {
    at_the_very_end.wanted = true;
    return 0;
  }
  if (how == "child") {
    if (fork() == 0) std::exit(5);
    wait(nullptr);
  } else if (how == "child_finalizes") {
    if (fork() == 0) {
      MPI_Finalize();
      return 0;
    }
    int status = 0;
    wait(&status);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 1) return 3;
  } else if (rank != size - 1 && how != "differ") {
    MPI_Barrier(MPI_COMM_WORLD);  // in vain
  } else if (how == "abort" || how == "locked" || how == "stuck") {
    MPI_Abort(MPI_COMM_WORLD, 42);
  } else if (how == "fatal") {
    MPI_Send(&x, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
  } else if (how == "differ" && rank == 0) {
    MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD);
  } else if (how == "differ") {
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (how == "exit") {
    std::exit(argc > 2 ? std::atoi(argv[2]) : 0);
  } else if (how == "return") {
    return 0;
  }
  MPI_Finalize();
}
