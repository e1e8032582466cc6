/* SPDX-License-Identifier: BSD-3-Clause */
/* Files: how fast all ranks together write and read one, each its own part of it in a row or pieces that lie
 * between those of the others, alone and together; what is left to wait for after computing; appends by the shared
 * pointer; opening and closing. On a file system in memory (shm.) and on that of TMPDIR or /tmp (disk.). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

enum { kMoved = 1 << 20, kAtOnce = 1 << 20 };
static const size_t kPart = (size_t)16 << 20; /* of the file, for each rank */
static const double kComputes = 0.2;          /* seconds */

typedef struct Files {
  MPI_File file;
  char* data;
  size_t bytes;     /* of a piece */
  size_t each;      /* moved by a call of each rank */
  MPI_Offset next;  /* of this rank's calls, in bytes of its view */
  MPI_Offset begin; /* of its part */
  int writes, together;
} Files;

static void name_of(char* name, size_t room, int on_disk) {
  const char* folder = on_disk ? getenv("TMPDIR") : "/dev/shm";
  int id = world_rank == 0 ? (int)getpid() : 0;
  if (!folder || !*folder) folder = "/tmp";
  MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(name, room, "%s/tutti-bench-file-%d", folder, id);
}

static int many(void* context, int calls) {
  Files* f = context;
  for (int i = 0; i < calls; ++i) {
    MPI_Status status;
    const MPI_Offset at = f->begin + f->next;
    const int n = (int)f->each;
    const int error = f->writes     ? f->together ? MPI_File_write_at_all(f->file, at, f->data, n, MPI_BYTE, &status)
                                                  : MPI_File_write_at(f->file, at, f->data, n, MPI_BYTE, &status)
                          : f->together ? MPI_File_read_at_all(f->file, at, f->data, n, MPI_BYTE, &status)
                                    : MPI_File_read_at(f->file, at, f->data, n, MPI_BYTE, &status);
    if (error != MPI_SUCCESS) return error;
    int moved = 0;
    MPI_Get_count(&status, MPI_BYTE, &moved);
    if (moved != n) return MPI_ERR_IO;
    f->next = (f->next + n) % (MPI_Offset)kPart;
  }
  return MPI_SUCCESS;
}

/* The ranks' pieces lie between each other's. */
static int set_turns(Files* f) {
  MPI_Datatype piece, tile;
  MPI_Type_contiguous((int)f->bytes, MPI_BYTE, &piece);
  MPI_Type_create_resized(piece, 0, (MPI_Aint)f->bytes * world_size, &tile);
  MPI_Type_commit(&tile);
  const int error =
      MPI_File_set_view(f->file, (MPI_Offset)f->bytes * world_rank, MPI_BYTE, tile, "native", MPI_INFO_NULL);
  MPI_Type_free(&piece);
  MPI_Type_free(&tile);
  return error;
}

/* All of the file, so that nothing that is read is a hole; and what is read is what was written. */
static int fill(Files* f, Outcome* out) {
  int error = MPI_SUCCESS;
  MPI_Status status;
  char* const block = room(kMoved);
  memset(block, 'a' + world_rank % 26, kMoved);
  for (size_t done = 0; done < kPart && error == MPI_SUCCESS; done += kMoved)
    error = MPI_File_write_at_all(f->file, f->begin + (MPI_Offset)done, block, kMoved, MPI_BYTE, &status);
  memset(block, 0, kMoved);
  if (error == MPI_SUCCESS) error = MPI_File_read_at_all(f->file, f->begin, block, kMoved, MPI_BYTE, &status);
  for (size_t i = 0; i < kMoved && error == MPI_SUCCESS; ++i)
    if (block[i] != 'a' + world_rank % 26) {
      refuse(out, "byte %zu is not what was written", i);
      break;
    }
  free(block);
  return error;
}

static int opened(Files* f, int on_disk) {
  char name[512];
  name_of(name, sizeof name, on_disk);
  return MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                       &f->file);
}

/* "shm.strided.write_all" */
static int run_moves(const Measure* self, size_t bytes, Outcome* out) {
  Files f = {.bytes = bytes, .each = bytes};
  const int strided = strstr(self->name, "strided.") != NULL;
  f.writes = strstr(self->name, ".write") != NULL;
  f.together = strstr(self->name, "_all") != NULL;
  if (strided && f.each < kAtOnce) f.each = kAtOnce;
  f.data = room(f.each);
  f.begin = strided ? 0 : (MPI_Offset)kPart * world_rank;
  int error = opened(&f, strncmp(self->name, "disk", 4) == 0);
  if (error == MPI_SUCCESS && strided) error = set_turns(&f);
  if (error == MPI_SUCCESS) error = fill(&f, out);
  double seconds = 1;
  if (error == MPI_SUCCESS) error = sample(many, &f, &seconds);
  if (error == MPI_SUCCESS) error = MPI_File_close(&f.file);
  free(f.data);
  out->value = (double)f.each * world_size / seconds * 1e-9;
  out->unit = "GB/s";
  return error;
}

static volatile double sink;
static void compute(double seconds) {
  const double end = now() + seconds;
  while (now() < end)
    for (int i = 0; i < 1000; ++i) sink = sink * 0.5 + 1;
}

/* What MPI_Wait takes when the ranks have computed meanwhile. */
static int run_left(const Measure* self, size_t bytes, Outcome* out) {
  enum { kTries = 5 };
  Files f = {.bytes = strstr(self->name, "strided.") ? 4096 : bytes, .each = bytes};
  double left[kTries];
  f.data = room(bytes);
  int error = opened(&f, strncmp(self->name, "disk", 4) == 0);
  if (error == MPI_SUCCESS && f.bytes != bytes) error = set_turns(&f);
  if (f.bytes == bytes) f.begin = (MPI_Offset)bytes * world_rank;
  for (int i = 0; i < kTries && error == MPI_SUCCESS; ++i) {
    MPI_Request request;
    agree(0);
    error = MPI_File_iwrite_at_all(f.file, f.begin, f.data, (int)bytes, MPI_BYTE, &request);
    if (error != MPI_SUCCESS) break;
    compute(kComputes);
    const double start = now();
    error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    left[i] = agree(now() - start);
  }
  if (error == MPI_SUCCESS) error = MPI_File_close(&f.file);
  free(f.data);
  out->value = error == MPI_SUCCESS ? 1e3 * median(left, kTries) : 0;
  out->unit = "ms";
  return error;
}

static int appends(void* context, int calls) {
  Files* f = context;
  for (int i = 0; i < calls; ++i) {
    const int error = MPI_File_write_shared(f->file, f->data, (int)f->bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

static int run_append(const Measure* self, size_t bytes, Outcome* out) {
  Files f = {.bytes = bytes, .data = room(bytes)};
  double seconds = 0;
  int error = opened(&f, strncmp(self->name, "disk", 4) == 0);
  if (error == MPI_SUCCESS) error = sample(appends, &f, &seconds);
  if (error == MPI_SUCCESS) error = MPI_File_close(&f.file);
  free(f.data);
  out->value = 1e6 * seconds;
  return error;
}

static int openings(void* context, int calls) {
  Files f;
  for (int i = 0; i < calls; ++i) {
    int error = MPI_File_open(MPI_COMM_WORLD, context, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f.file);
    if (error == MPI_SUCCESS) error = MPI_File_close(&f.file);
    if (error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

static int run_open(const Measure* self, size_t bytes, Outcome* out) {
  char name[512];
  double seconds = 0;
  (void)bytes;
  name_of(name, sizeof name, strncmp(self->name, "disk", 4) == 0);
  const int error = sample(openings, name, &seconds);
  if (world_rank == 0) unlink(name);
  out->value = 1e3 * seconds;
  out->unit = "ms";
  return error;
}

// clang-format off
const Measure kFiles[] = {
    {"shm.write", run_moves, NULL},          {"shm.read", run_moves, NULL},
    {"shm.write_all", run_moves, NULL},      {"shm.read_all", run_moves, NULL},
    {"shm.strided.write", run_moves, NULL},  {"shm.strided.read", run_moves, NULL},
    {"shm.strided.write_all", run_moves, NULL}, {"shm.strided.read_all", run_moves, NULL},
    {"disk.write", run_moves, NULL},         {"disk.read", run_moves, NULL},
    {"disk.write_all", run_moves, NULL},     {"disk.read_all", run_moves, NULL},
    {"disk.strided.write", run_moves, NULL}, {"disk.strided.read", run_moves, NULL},
    {"disk.strided.write_all", run_moves, NULL}, {"disk.strided.read_all", run_moves, NULL},
    {"shm.left", run_left, NULL},            {"shm.strided.left", run_left, NULL},
    {"disk.left", run_left, NULL},           {"disk.strided.left", run_left, NULL},
    {"shm.append", run_append, NULL},        {"disk.append", run_append, NULL},
    {"shm.open", run_open, NULL},            {"disk.open", run_open, NULL},
    {NULL, NULL, NULL},
};
// clang-format on
