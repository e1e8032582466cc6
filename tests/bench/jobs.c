/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that come and go: spawning jobs of this program (`bytes` is how many processes), two processes that connect
 * over a port, and sessions. Each figure is of the whole round: until both sides have parted, or the session is over. */
#include <stdio.h>
#include <string.h>

#include "bench.h"

typedef struct {
  int children;
  char port[MPI_MAX_PORT_NAME];
} Jobs;

static int spawn(void* context, int calls) {
  char argument[] = "child", *argv[] = {argument, NULL};
  const Jobs* jobs = context;
  int error = MPI_SUCCESS;
  for (int i = 0; i < calls && error == MPI_SUCCESS; ++i) {
    MPI_Comm children;
    error = MPI_Comm_spawn(program_path, argv, jobs->children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                           MPI_ERRCODES_IGNORE);
    if (error == MPI_SUCCESS) error = MPI_Comm_disconnect(&children);
  }
  return error;
}

static int run_spawn(const Measure* self, size_t bytes, Outcome* out) {
  (void)self;
  Jobs jobs = {.children = bytes ? (int)bytes : 1};
  double seconds = 0;
  const int error = sample(spawn, &jobs, &seconds);
  out->value = 1e3 * seconds;
  out->unit = "ms";
  return error;
}

static int meet(void* context, int calls) {
  Jobs* jobs = context;
  int error = MPI_SUCCESS;
  for (int i = 0; i < calls && error == MPI_SUCCESS && world_rank < 2; ++i) {
    MPI_Comm both;
    error = world_rank == 0 ? MPI_Comm_accept(jobs->port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &both)
                            : MPI_Comm_connect(jobs->port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &both);
    if (error == MPI_SUCCESS) error = MPI_Comm_disconnect(&both);
  }
  return error;
}

static int run_connect(const Measure* self, size_t bytes, Outcome* out) {
  (void)self, (void)bytes;
  Jobs jobs = {.children = 0};
  double seconds = 0;
  int error = MPI_SUCCESS;
  if (world_size != 2) return refuse(out, "needs 2 ranks");
  if (world_rank == 0) {
    error = MPI_Open_port(MPI_INFO_NULL, jobs.port);
    if (error == MPI_SUCCESS) MPI_Send(jobs.port, MPI_MAX_PORT_NAME, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  } else {
    MPI_Recv(jobs.port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (error == MPI_SUCCESS) error = sample(meet, &jobs, &seconds);
  if (world_rank == 0) MPI_Close_port(jobs.port);
  out->value = 1e6 * seconds;
  return error;
}

#if MPI_VERSION >= 4
/* A session, a communicator over all ranks, a barrier on it. */
static int session(void* context, int calls) {
  (void)context;
  int error = MPI_SUCCESS;
  for (int i = 0; i < calls && error == MPI_SUCCESS; ++i) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    error = MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    if (error == MPI_SUCCESS) error = MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    if (error == MPI_SUCCESS)
      error = MPI_Comm_create_from_group(group, "bench", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    if (error == MPI_SUCCESS) error = MPI_Barrier(comm);
    if (error != MPI_SUCCESS) break;
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    error = MPI_Session_finalize(&session);
  }
  return error;
}
static int session_alone(void* context, int calls) {
  (void)context;
  int error = MPI_SUCCESS;
  for (int i = 0; i < calls && error == MPI_SUCCESS; ++i) {
    MPI_Session session;
    error = MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    if (error == MPI_SUCCESS) error = MPI_Session_finalize(&session);
  }
  return error;
}

static int run_session(const Measure* self, size_t bytes, Outcome* out) {
  (void)bytes;
  double seconds = 0;
  const int error = sample(strcmp(self->name, "session.init") == 0 ? session_alone : session, NULL, &seconds);
  out->value = 1e6 * seconds;
  return error;
}
#else
static int run_session(const Measure* self, size_t bytes, Outcome* out) {
  (void)self, (void)bytes;
  return refuse(out, "the library has no sessions");
}
#endif

const Measure kJobs[] = {
    {"spawn", run_spawn, NULL},
    {"connect", run_connect, NULL},
    {"session.init", run_session, NULL},
    {"session.comm", run_session, NULL},
    {NULL, NULL, NULL},
};
