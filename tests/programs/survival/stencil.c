/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Heat that spreads over a plate, on ranks of which some may fail: those that are left go on.
 *
 *   mpirun -n 4 --on-failure=continue stencil [steps, default 600] [RANK:STEP ...]
 *
 * Each rank owns a block of rows, and exchanges the outermost ones with its neighbours in each step. After every 50 steps it
 * gives a copy of its block to the rank behind it (the last one to the first), and all agree on whether they have these
 * copies. If somebody has failed meanwhile they do not: then the communicator is shrunk to those who are left, and they
 * take the rows as they were copied last, each his own and those of the failed rank before him, share them anew, and go on
 * from there. What is lost is the work of at most 50 steps; only if two ranks side by side fail within these, their rows
 * are. RANK:STEP has a rank of MPI_COMM_WORLD kill itself in that step, to see it. In the end each rank compares its rows with
 * those that it finds alone, bit for bit. */
#include <mpi-ext.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kRows = 240, kColumns = 120, kStepsPerCopy = 50 };
typedef double Row[kColumns];

static int world_rank;
static const char* const* deaths; /* RANK:STEP */
static int number_of_deaths;

/* The communicator of those who are left, its rank and size. */
static MPI_Comm comm;
static int rank, ranks;

/* The block of this rank, with a row before it and one behind it that belong to its neighbours, or to the edge. */
static Row *now, *next;
static int first, rows, step;

/* The blocks of all as they were in a step, of which this rank has two. */
typedef struct {
  int step, ranks, rank; /* of the communicator by which they were copied */
  int* world;            /* its ranks in MPI_COMM_WORLD */
  Row *mine, *before;    /* this rank's, and those of the rank before it */
} Copies;
static Copies copies;

static void* room(size_t count, size_t size) {
  void* const memory = calloc(count ? count : 1, size);
  if (!memory) {
    fprintf(stderr, "stencil: rank %d has no memory for %zu items of %zu bytes\n", world_rank, count, size);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return memory;
}

static int first_row(int of, int number) {
  return (int)((long)kRows * of / number);
}
static int row_count(int of, int number) {
  return first_row(of + 1, number) - first_row(of, number);
}

/* ---- the plate */

static void begin_row(Row row, int at) {
  for (int column = 0; column < kColumns; ++column) row[column] = at == 0 ? 100 : at * column % 17;
}

/* The edges stay as they are. `at`: which row of the plate it is. */
static void update_row(Row to, const Row* from, int at) {
  memcpy(to, from[0], sizeof(Row));
  if (at == 0 || at == kRows - 1) return;
  for (int column = 1; column < kColumns - 1; ++column)
    to[column] = from[0][column] + 0.2 * (from[-1][column] + from[1][column] + from[0][column - 1] +
                                          from[0][column + 1] - 4 * from[0][column]);
}

static void exchange_blocks(void) {
  Row* const other = now;
  now = next;
  next = other;
}

static void own(int first_of_mine, int number) {
  first = first_of_mine;
  rows = number;
  free(now);
  free(next);
  now = room((size_t)rows + 2, sizeof(Row));
  next = room((size_t)rows + 2, sizeof(Row));
}

static void die_if_told(void) {
  for (int i = 0; i < number_of_deaths; ++i) {
    int who, when;
    if (sscanf(deaths[i], "%d:%d", &who, &when) == 2 && who == world_rank && when == step) kill(getpid(), SIGKILL);
  }
}

/* One step of all rows; 0: somebody has failed, or another one has found that out and revoked the communicator. */
static int take_step(void) {
  const int before = rank > 0 ? rank - 1 : MPI_PROC_NULL, behind = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
  die_if_told();
  if (MPI_Sendrecv(now[1], kColumns, MPI_DOUBLE, before, 1, now[rows + 1], kColumns, MPI_DOUBLE, behind, 1, comm,
                   MPI_STATUS_IGNORE) != MPI_SUCCESS ||
      MPI_Sendrecv(now[rows], kColumns, MPI_DOUBLE, behind, 2, now[0], kColumns, MPI_DOUBLE, before, 2, comm,
                   MPI_STATUS_IGNORE) != MPI_SUCCESS)
    return 0;
  for (int i = 1; i <= rows; ++i) update_row(next[i], (const Row*)&now[i], first + i - 1);
  exchange_blocks();
  ++step;
  return 1;
}

/* ---- copies */

static void forget(Copies* c) {
  free(c->world);
  free(c->mine);
  free(c->before);
}

/* Of the communicator's ranks, who they are in MPI_COMM_WORLD. */
static int* world_ranks(void) {
  MPI_Group all, mine;
  int *const here = room((size_t)ranks, sizeof(int)), *const there = room((size_t)ranks, sizeof(int));
  for (int i = 0; i < ranks; ++i) here[i] = i;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Comm_group(comm, &mine);
  MPI_Group_translate_ranks(mine, ranks, here, all, there);
  MPI_Group_free(&all);
  MPI_Group_free(&mine);
  free(here);
  return there;
}

/* Those before stay until all have these: only an agreement is the same everywhere, whatever fails meanwhile. */
static int copy_blocks(int well) {
  const int before = (rank + ranks - 1) % ranks, behind = (rank + 1) % ranks, theirs = row_count(before, ranks);
  Copies made = {step, ranks, rank, world_ranks(), room((size_t)rows, sizeof(Row)), room((size_t)theirs, sizeof(Row))};
  memcpy(made.mine, now[1], (size_t)rows * sizeof(Row));
  well = well && MPI_Sendrecv(made.mine, rows * kColumns, MPI_DOUBLE, behind, 3, made.before, theirs * kColumns,
                              MPI_DOUBLE, before, 3, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS;
  if (!well) MPIX_Comm_revoke(comm); /* so that nobody waits for this rank in what it has left */
  const int error = MPIX_Comm_agree(comm, &well);
  if (error != MPI_SUCCESS) well = 0;
  forget(well ? &copies : &made);
  if (well) copies = made;
  return well;
}

/* ---- going on with those who are left */

/* Who has a block of the copies now; `copied`: as the copy of the one before. -1: nobody. */
static int holder(const int* world, int of, int* copied) {
  for (*copied = 0; *copied < 2; ++*copied)
    for (int i = 0; i < ranks; ++i)
      if (world[i] == copies.world[(of + *copied) % copies.ranks]) return i;
  return -1;
}

/* Sends the rows of some blocks to those who own them now, into `now`. */
static int share(const int* world, int copied) {
  int *const counts = room(4 * (size_t)ranks, sizeof(int)), *const places = counts + ranks;
  int *const in_counts = places + ranks, *const in_places = in_counts + ranks;
  for (int of = 0; of < copies.ranks; ++of) {
    int how;
    const int who = holder(world, of, &how);
    const int from = first_row(of, copies.ranks), to = from + row_count(of, copies.ranks);
    if (how != copied) continue;
    for (int i = 0; i < ranks; ++i) {
      int begin = first_row(i, ranks), end = begin + row_count(i, ranks);
      if (begin < from) begin = from;
      if (end > to) end = to;
      if (begin >= end) continue;
      if (who == rank) {
        counts[i] = (end - begin) * kColumns;
        places[i] = (begin - from) * kColumns;
      }
      if (i != rank) continue;
      in_counts[who] = (end - begin) * kColumns;
      in_places[who] = (begin - first) * kColumns;
    }
  }
  const int error = MPI_Alltoallv(copied ? copies.before : copies.mine, counts, places, MPI_DOUBLE, now + 1, in_counts,
                                  in_places, MPI_DOUBLE, comm);
  free(counts);
  return error == MPI_SUCCESS;
}

static void begin(void) {
  own(first_row(rank, ranks), row_count(rank, ranks));
  for (int i = 0; i < rows; ++i) begin_row(now[i + 1], first + i);
}

/* 0: somebody else has failed meanwhile. */
static int restore(void) {
  if (copies.ranks == 0) { /* before the first copy */
    begin();
    return copy_blocks(1);
  }
  int* const world = world_ranks();
  int copied;
  for (int of = 0; of < copies.ranks; ++of)
    if (holder(world, of, &copied) < 0) {
      if (rank == 0)
        fprintf(stderr, "stencil: ranks %d and %d have failed, and with them the rows of the first\n", copies.world[of],
                copies.world[(of + 1) % copies.ranks]);
      MPI_Abort(comm, 2);
    }
  own(first_row(rank, ranks), row_count(rank, ranks));
  step = copies.step;
  const int well = share(world, 0) && share(world, 1);
  free(world);
  return copy_blocks(well);
}

static void go_on_with_the_rest(void) {
  do {
    MPI_Comm rest;
    MPIX_Comm_revoke(comm);
    MPIX_Comm_shrink(comm, &rest); /* with the error handler */
    MPI_Comm_free(&comm);
    comm = rest;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
  } while (!restore());
  if (rank == 0) printf("going on with %d ranks from step %d\n", ranks, step);
}

/* ---- the whole */

/* Whether this rank's rows are those that one process finds. */
static int is_right(int steps) {
  Row *a = room(kRows, sizeof(Row)), *b = room(kRows, sizeof(Row));
  for (int i = 0; i < kRows; ++i) begin_row(a[i], i);
  for (int s = 0; s < steps; ++s) {
    for (int i = 0; i < kRows; ++i) update_row(b[i], (const Row*)&a[i], i);
    Row* const other = a;
    a = b;
    b = other;
  }
  const int same = memcmp(a[first], now[1], (size_t)rows * sizeof(Row)) == 0;
  free(a);
  free(b);
  return same;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int steps = argc > 1 ? atoi(argv[1]) : 600;
  deaths = (const char* const*)argv + 2;
  number_of_deaths = argc > 2 ? argc - 2 : 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  begin();
  int well = copy_blocks(1);
  if (!well) go_on_with_the_rest();
  while (step < steps) {
    const int end = step + kStepsPerCopy < steps ? step + kStepsPerCopy : steps;
    for (well = 1; well && step < end;) well = take_step();
    if (!copy_blocks(well)) go_on_with_the_rest();
  }

  int right = is_right(steps);
  MPIX_Comm_failure_ack(comm); /* who fails from here on has done its part */
  MPIX_Comm_agree(comm, &right);
  if (rank == 0) printf("%d steps, %d ranks are left: %s\n", steps, ranks, right ? "right" : "WRONG");
  forget(&copies);
  free(now);
  free(next);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return !right;
}
