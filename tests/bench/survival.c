/* SPDX-License-Identifier: BSD-3-Clause */
/* What surviving costs, in microseconds, each the most of all ranks: an agreement, and an allreduce of 8 bytes; then a rank
 * dies: from its death to the error that the others have, from the call that revokes a communicator until all who wait on
 * it have heard, a shrink, and a spawn with a merge of one in its place. On one node, for the ranks compare their clocks; its
 * argument is a file that they share. */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
/* behind mpi.h, of which some libraries' takes more than it includes */
#include <mpi-ext.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}
static double most(double mine, MPI_Comm comm) {
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, comm);
  return all;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm parent, comm, other, rest, inter, whole;
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    MPI_Intercomm_merge(parent, 1, &whole);
    MPI_Barrier(whole);
    MPI_Comm_free(&whole);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
  }
  int rank, size, flag = 1, x = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
  if (ftruncate(fd, 4096)) return 1;
  volatile double* t = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN);
  /* Who has never sent anything to another one would do so first when it revokes. */
  for (int i = 0; i < size; ++i)
    for (int k = 0; k < size; ++k) {
      if (rank == i && k != i) MPI_Send(&x, 1, MPI_INT, k, 2, comm);
      if (rank == k && k != i) MPI_Recv(&x, 1, MPI_INT, i, 2, comm, MPI_STATUS_IGNORE);
    }
  const int n = 300;
  double agree = 0, reduce = 0, in = 1, out;
  for (int part = 0; part < 2; ++part) {
    MPI_Barrier(comm);
    double begin = now();
    for (int i = 0; i < n; ++i) MPIX_Comm_agree(comm, &flag);
    agree = (now() - begin) / n;
    MPI_Barrier(comm);
    begin = now();
    for (int i = 0; i < n; ++i) MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, comm);
    reduce = (now() - begin) / n;
  }
  agree = most(agree, comm);
  reduce = most(reduce, comm);
  MPI_Barrier(comm);
  const int victim = size - 1;
  if (rank == victim) {
    usleep(300000);
    t[0] = now();
    raise(SIGKILL);
  }
  MPI_Recv(&x, 1, MPI_INT, victim, 1, comm, MPI_STATUS_IGNORE);
  const double heard = now() - t[0];
  usleep(200000);
  double revoked = 0;
  if (rank == 0) {
    t[1] = now();
    MPIX_Comm_revoke(other);
  } else {
    MPI_Recv(&x, 1, MPI_INT, 0, 1, other, MPI_STATUS_IGNORE);
    revoked = now() - t[1];
  }
  usleep(100000);
  MPIX_Comm_agree(comm, &flag);
  double begin = now();
  MPIX_Comm_shrink(comm, &rest);
  const double shrink = now() - begin;
  MPI_Barrier(rest);
  begin = now();
  MPI_Comm_spawn(argv[0], argv + 1, 1, MPI_INFO_NULL, 0, rest, &inter, MPI_ERRCODES_IGNORE);
  MPI_Intercomm_merge(inter, 0, &whole);
  MPI_Barrier(whole);
  const double spawned = now() - begin;
  const double all[4] = {most(heard, rest), most(revoked, rest), most(shrink, rest), most(spawned, rest)};
  if (rank == 0)
    printf("agree %.1f allreduce %.1f error %.0f revoke %.0f shrink %.0f respawn %.0f\n", agree, reduce, all[0], all[1],
           all[2], all[3]);
  fflush(stdout);
  MPI_Comm_free(&whole);
  MPI_Comm_disconnect(&inter);
  MPI_Finalize();
  return 0;
}
