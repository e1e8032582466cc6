/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of a process to itself: by blocking calls, and those that have begun only. */
#define SEND(b, n) call MPI_Sendrecv(b, n, MPI_INTEGER, 0, 1, got, n, MPI_INTEGER, 0, 1, comm, MPI_STATUS_IGNORE)
#define RECEIVE(b, n) call MPI_Sendrecv(new, n, MPI_INTEGER, 0, 1, b, n, MPI_INTEGER, 0, 1, comm, MPI_STATUS_IGNORE)
#define LATER_SEND(b, n) call MPI_Isend(b, n, MPI_INTEGER, 0, 2, comm, request, code)
#define LATER_RECEIVE(b, n) call MPI_Irecv(b, n, MPI_INTEGER, 0, 3, comm, request, code)
