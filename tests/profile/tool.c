/* SPDX-License-Identifier: BSD-3-Clause */
/* A tool as others write them, loaded before the libraries of a program that knows nothing of it: it stands in front of
 * functions of MPI (PMPI), and hears of what the library does by callbacks of MPI_T, which have the time. Prints of each rank
 * what it has heard, and how much of that fits together. */
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMatched, kCollectives, kKinds };
static const char* const kNames[kKinds] = {"messages.matched", "collectives.ended"};

static MPI_T_event_registration heard[kKinds];
static atomic_llong events[kKinds], bytes, out_of_time;
static MPI_Count begun;
static long long receives, barriers;

static void hear(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                 void* kind) {
  MPI_Count when = 0, now = 0, length = 0;
  (void)registration, (void)safety;
  if (MPI_T_event_get_timestamp(event, &when) || MPI_T_source_get_timestamp(0, &now) ||
      MPI_T_event_read(event, 2, &length))
    abort();
  if (when < begun || when > now) atomic_fetch_add(&out_of_time, 1);
  atomic_fetch_add(&events[(size_t)kind], 1);
  if ((size_t)kind == kMatched) atomic_fetch_add(&bytes, length);
}

int MPI_Init(int* argc, char*** argv) {
  int level;
  const int error = PMPI_Init(argc, argv);
  if (MPI_T_init_thread(MPI_THREAD_MULTIPLE, &level) || MPI_T_source_get_timestamp(0, &begun)) abort();
  for (size_t kind = 0; kind < kKinds; ++kind) {
    int index;
    if (MPI_T_event_get_index(kNames[kind], &index) ||
        MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &heard[kind]) ||
        MPI_T_event_register_callback(heard[kind], MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, (void*)kind, hear))
      abort();
  }
  return error;
}

int MPI_Irecv(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {
  ++receives;
  return PMPI_Irecv(buf, count, type, source, tag, comm, request);
}
int MPI_Sendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
                 int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  ++receives;
  return PMPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm,
                       status);
}
int MPI_Barrier(MPI_Comm comm) {
  ++barriers;
  return PMPI_Barrier(comm);
}

int MPI_Finalize(void) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (size_t kind = 0; kind < kKinds; ++kind)
    if (MPI_T_event_handle_free(heard[kind], NULL, NULL)) abort();
  printf("tool: rank %d receives %lld matched %lld bytes %lld barriers %lld ended %lld out of time %lld\n", rank,
         receives, atomic_load(&events[kMatched]), atomic_load(&bytes), barriers, atomic_load(&events[kCollectives]),
         atomic_load(&out_of_time));
  if (MPI_T_finalize()) abort();
  return PMPI_Finalize();
}
