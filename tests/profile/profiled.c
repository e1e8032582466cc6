/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs whose times are made on purpose, for pages.py, which looks up the lines by the marks behind them.
 * usage: profiled WHAT [CALLS, or a file] */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tutti.h>
#include <unistd.h>

static int rank, size;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
/* Time outside of MPI: asleep, so that ranks which share a core do not slow each other. */
static void work(double milliseconds) {
  const double end = now() + milliseconds * 1e-3;
  for (double left; (left = end - now()) > 0;) usleep((useconds_t)(left * 1e6) + 1);
}

/* A solver of which the last rank may take several times as long as the others. */
static void slow_rank(double slow) {
  double local = 1, sum = 0;
  for (int step = 0; step < 50; ++step) {
    work(rank == size - 1 ? slow : 8);
    MPI_Allreduce(&local, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* slow_rank */
  }
}

/* Each time another rank is slow. */
static void moving(void) {
  double local = 1, sum = 0;
  for (int step = 0; step < 60; ++step) {
    work(rank == step % size ? 30 : 2);
    MPI_Allreduce(&local, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* moving */
  }
}

/* Small pieces between those of the others, which one aggregator writes. */
static void two_phases(const char* path) {
  enum { kInts = 1000 };
  int data[kInts] = {0};
  MPI_File file;
  MPI_Info info;
  MPI_Datatype every;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_nodes", "1");
  MPI_Info_set(info, "collective_buffering", "true");
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
  MPI_Type_create_resized(MPI_INT, 0, size * (int)sizeof(int), &every);
  MPI_Type_commit(&every);
  MPI_File_set_view(file, rank * (int)sizeof(int), MPI_INT, every, "native", info);
  for (int i = 0; i < 20; ++i) MPI_File_write_all(file, data, kInts, MPI_INT, MPI_STATUS_IGNORE); /* two_phases */
  MPI_File_close(&file);
  MPI_Type_free(&every);
  MPI_Info_free(&info);
}

/* Small pieces that each rank writes by itself. */
static void small_pieces(const char* path) {
  char piece[40] = {0};
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  for (int i = 0; i < 100; ++i) {
    const MPI_Offset at = (i * size + rank) * (MPI_Offset)sizeof piece;
    MPI_File_write_at(file, at, piece, sizeof piece, MPI_BYTE, MPI_STATUS_IGNORE); /* small_pieces */
  }
  MPI_File_close(&file);
}

static void late_sender(void) {
  int value = 0;
  for (int i = 0; i < 50; ++i) {
    if (rank == 0) {
      work(10);
      MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
      MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* late_sender */
    }
  }
}

static void late_receiver(void) {
  enum { kLong = 1 << 20 };
  char* bytes = calloc(1, kLong);
  for (int i = 0; i < 50; ++i) {
    if (rank == 0) {
      MPI_Ssend(bytes, kLong, MPI_CHAR, 1, 0, MPI_COMM_WORLD); /* late_receiver */
    } else if (rank == 1) {
      work(10);
      MPI_Recv(bytes, kLong, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  free(bytes);
}

static void held_lock(void) {
  MPI_Win win;
  int* memory;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  for (int i = 0; i < 5; ++i) {
    if (rank == 0) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
      MPI_Barrier(MPI_COMM_WORLD);
      work(200);
      MPI_Win_unlock(1, win);
    } else {
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win); /* held_lock */
      MPI_Win_unlock(1, win);
    }
  }
  MPI_Win_free(&win);
}

/* The other rank reaches this one's window, and is slow to say that it is done. */
static void elsewhere(void) {
  MPI_Win win;
  MPI_Group group, other;
  int memory[1] = {0}, value = 1;
  const int peer = 1 - rank;
  MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Group_incl(group, 1, &peer, &other);
  for (int i = 0; i < 20; ++i) {
    if (rank == 0) {
      MPI_Win_start(other, 0, win);
      MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
      work(10);
      MPI_Win_complete(win);
    } else {
      MPI_Win_post(other, 0, win);
      MPI_Win_wait(win); /* elsewhere */
    }
  }
  MPI_Group_free(&other);
  MPI_Group_free(&group);
  MPI_Win_free(&win);
}

static void regions(void) {
  double sum = 0, one = 1;
  for (int i = 0; i < 5; ++i) MPI_Scan(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Pcontrol(2);
  for (int i = 0; i < 20; ++i) {
    tutti_region_begin("assembly");
    work(rank == 0 ? 5 : 0);
    MPI_Barrier(MPI_COMM_WORLD);
    tutti_region_end();
    tutti_region_begin("solve");
    MPI_Barrier(MPI_COMM_WORLD);
    tutti_region_end();
  }
  MPI_Pcontrol(0);
  for (int i = 0; i < 7; ++i) MPI_Bcast(&rank, 0, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Pcontrol(1);
}

/* The receiver asks again and again, and then now and then, between which it works. */
static void polling(void) {
  int value = 0, done;
  for (int i = 0; i < 40; ++i) {
    MPI_Request request;
    if (rank == 0) {
      work(10);
      MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
      MPI_Irecv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
      for (done = 0; !done;) {
        if (i % 2) work(1);
        if (i % 2)
          MPI_Test(&request, &done, MPI_STATUS_IGNORE); /* now_and_then */
        else
          MPI_Test(&request, &done, MPI_STATUS_IGNORE); /* polling */
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* Messages that are under way while the ranks work for longer than they take, and less long. */
static void overlap(void) {
  int in = 0, out = 0;
  for (int i = 0; i < 40; ++i) {
    MPI_Request requests[2];
    MPI_Irecv(&in, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &requests[0]);
    if (rank == 1) work(10);
    MPI_Isend(&out, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &requests[1]);
    if (rank == 0) work(5);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (rank == 0) work(5);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* One rank never comes: the others are killed in their call, or the job's time is over. */
static void stuck(int kills) {
  MPI_Barrier(MPI_COMM_WORLD);
  work(100);
  if (rank == 0) {
    work(kills ? 1000 : 60000);
    abort();
  }
  int value = 0;
  MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* stuck */
}

/* Messages of many lengths, some to the rank itself, posted and waited for in several ways. */
static void sums(void) {
  enum { kMost = 1 << 18 };
  char *out = calloc(1, kMost), *in = calloc(1, kMost);
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  for (int i = 0; i < 400; ++i) {
    const int bytes = (1 << (i % 18)) + i;
    MPI_Request requests[2];
    MPI_Irecv(in, kMost, MPI_CHAR, previous, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, bytes, MPI_CHAR, next, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(out, i, MPI_CHAR, rank, 2, in, kMost, MPI_CHAR, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (i % 20 == 0) work(rank == 0 ? 10 : 1);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free(out);
  free(in);
}

/* Prints what a short call takes at the best, of batches of which nothing else has disturbed some. */
static void many_calls(long calls) {
  enum { kBatch = 100 };
  double local = 1, sum = 0, best[2] = {1, 1};
  for (long i = 0; i < calls / kBatch; ++i) {
    double start = now();
    for (int k = 0; k < kBatch; ++k) MPI_Allreduce(&local, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double took = (now() - start) / kBatch;
    if (took < best[0]) best[0] = took;
    start = now();
    for (int k = 0; k < kBatch && rank < 2 && size > 1; ++k) {
      if (k % 2 == rank)
        MPI_Send(&local, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD);
      else
        MPI_Recv(&local, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    took = (now() - start) / kBatch;
    if (took < best[1]) best[1] = took;
  }
  if (rank == 0) {
    char line[256];
    long memory = 0;
    FILE* status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) sscanf(line, "VmRSS: %ld", &memory);
    if (status) fclose(status);
    printf("allreduce %.1f ns, message %.1f ns, resident %ld KiB\n", best[0] * 1e9, best[1] * 1e9, memory);
  }
}

/* Something of all that a timeline shows: messages around a ring, by calls that wait and while ranks work, and collectives. */
static void ring(void) {
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  double out = rank, in = 0, sum = 0;
  tutti_region_begin("around \"the\" ring");
  for (int i = 0; i < 40; ++i) {
    MPI_Request requests[2];
    work(rank == i % size ? 4 : 1);
    MPI_Sendrecv(&out, 1, MPI_DOUBLE, next, 1, &in, 1, MPI_DOUBLE, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(&in, 1, MPI_DOUBLE, next, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&out, 1, MPI_DOUBLE, previous, 2, MPI_COMM_WORLD, &requests[1]);
    work(2);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (i % 4 == 0) MPI_Allreduce(&in, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  tutti_region_end();
}

/* Threads of a rank that are in MPI at the same time, each with the threads of the same number. */
enum { kThreads = 3 };
struct thread {
  int number;
  MPI_Comm comm;
};
static void* of_thread(void* argument) {
  const struct thread* const mine = argument;
  double out = rank, in = 0;
  for (int i = 0; i < 30; ++i) {
    work(rank == 0 ? 1 + mine->number : 0.2);
    if (rank == 0)
      MPI_Send(&out, 1, MPI_DOUBLE, 1, mine->number, mine->comm);
    else if (rank == 1)
      MPI_Recv(&in, 1, MPI_DOUBLE, 0, mine->number, mine->comm, MPI_STATUS_IGNORE); /* of_thread */
    MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, mine->comm);
  }
  return NULL;
}
static void threads(void) {
  pthread_t of[kThreads];
  struct thread each[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    each[i].number = i;
    MPI_Comm_dup(MPI_COMM_WORLD, &each[i].comm);
  }
  for (int i = 0; i < kThreads; ++i) pthread_create(&of[i], NULL, of_thread, &each[i]);
  for (int i = 0; i < kThreads; ++i) pthread_join(of[i], NULL);
  for (int i = 0; i < kThreads; ++i) MPI_Comm_free(&each[i].comm);
}

int main(int argc, char** argv) {
  int provided = 0;
  if (argc > 1 && !strcmp(argv[1], "threads"))
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  else
    MPI_Init(&argc, &argv); /* which tools stand before */
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "slow_rank")) slow_rank(argc > 2 ? atof(argv[2]) : 60);
  if (!strcmp(what, "moving")) moving();
  if (!strcmp(what, "two_phases")) two_phases(argv[2]);
  if (!strcmp(what, "small_pieces")) small_pieces(argv[2]);
  if (!strcmp(what, "late_sender")) late_sender();
  if (!strcmp(what, "late_receiver")) late_receiver();
  if (!strcmp(what, "held_lock")) held_lock();
  if (!strcmp(what, "elsewhere")) elsewhere();
  if (!strcmp(what, "regions")) regions();
  if (!strcmp(what, "polling")) polling();
  if (!strcmp(what, "overlap")) overlap();
  if (!strcmp(what, "ring")) ring();
  if (!strcmp(what, "threads")) threads();
  if (!strcmp(what, "killed")) stuck(1);
  if (!strcmp(what, "time_over")) stuck(0);
  if (!strcmp(what, "sums")) sums();
  if (!strcmp(what, "many_calls")) many_calls(argc > 2 ? atol(argv[2]) : 1000);
  MPI_Finalize();
  return 0;
}
