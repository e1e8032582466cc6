/* SPDX-License-Identifier: BSD-3-Clause */
/* One program for all three interfaces: -DF08 is mpi_f08, -DMPIF is mpif.h, neither is mpi. */
#ifdef F08
#define ASYNC asynchronous
#define USE_MPI use mpi_f08
#define INCLUDE_MPI
#define HANDLE(kind) type(kind)
#define STATUS(s) type(MPI_Status)::s
#define STATUSES(s, n) type(MPI_Status)::s(n)
#define STATUS_SOURCE(s) s % MPI_SOURCE
#define STATUS_TAG(s) s % MPI_TAG
#define STATUS_ERROR(s) s % MPI_ERROR
#define ITH_SOURCE(s, i) s(i) % MPI_SOURCE
#define ITH_TAG(s, i) s(i) % MPI_TAG
#else
#define HANDLE(kind) integer
#define STATUS(s) integer ::s(MPI_STATUS_SIZE)
#define STATUSES(s, n) integer ::s(MPI_STATUS_SIZE, n)
#define STATUS_SOURCE(s) s(MPI_SOURCE)
#define STATUS_TAG(s) s(MPI_TAG)
#define STATUS_ERROR(s) s(MPI_ERROR)
#define ITH_SOURCE(s, i) s(MPI_SOURCE, i)
#define ITH_TAG(s, i) s(MPI_TAG, i)
#ifdef MPIF
/* An attribute that needs no explicit interface; what another call than the one that was given the array changes
 * wants MPI_F_SYNC_REG. */
#define ASYNC target
#define USE_MPI
#define INCLUDE_MPI include 'mpif.h'
#else
#define ASYNC asynchronous
#define USE_MPI use mpi
#define INCLUDE_MPI
#endif
#endif
