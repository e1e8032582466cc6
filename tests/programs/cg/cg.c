/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Solves A x = b by conjugate gradients on any number of ranks, for a symmetric positive definite
 * matrix in Matrix Market form.
 *
 *   mpirun -n 4 cg diffusion.mtx [tolerance, default 1e-10]
 *
 * Rank r owns a block of consecutive rows, and of x. Per iteration it needs the values of a few
 * unknowns of other ranks (its halo). Communication is hidden twice: the halo travels while the
 * rows that need none of it are multiplied, and the two dot products of the pipelined form of the
 * method (P. Ghysels, W. Vanroose, Parallel Computing 40, 2014) are summed over all ranks while the
 * next product runs. The right-hand side is made from a known solution, so that the answer can be
 * checked: by the true residual, and by the error. The exit code says whether the check held. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <mpi.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

/* Ends the job with a sentence. For what only one rank may know. */
static void die(const char* format, ...) {
  va_list arguments;
  char text[512];
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  fprintf(stderr, "cg: %s\n", text);
  fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

static void* room(size_t count, size_t size) {
  void* memory = calloc(count ? count : 1, size);
  if (!memory) die("rank %d has no memory for %zu items of %zu bytes", rank, count, size);
  return memory;
}

/* --- reading ---------------------------------------------------------------------------------- */

typedef struct {
  int row, column;
  double value;
} Entry;

typedef struct {
  int unknowns, count;
  Entry* entries; /* the lower triangle, from 0 */
} Triangle;

static void read_header(FILE* file, const char* path, Triangle* a) {
  char line[1100], object[64], form[64], field[64], symmetry[64];
  int columns, at = 1;
  if (!fgets(line, sizeof line, file)) die("%s is empty; a Matrix Market file was expected", path);
  if (sscanf(line, "%%%%MatrixMarket %63s %63s %63s %63s", object, form, field, symmetry) != 4)
    die("%s line 1 does not begin with \"%%%%MatrixMarket\": this is no Matrix Market file", path);
  if (strcmp(object, "matrix") || strcmp(form, "coordinate") || strcmp(field, "real") || strcmp(symmetry, "symmetric"))
    die("%s holds a \"%s %s %s %s\"; \"matrix coordinate real symmetric\" is what this program reads", path, object,
        form, field, symmetry);
  do {
    ++at;
    if (!fgets(line, sizeof line, file)) die("%s ends in line %d, before the sizes", path, at);
  } while (line[0] == '%' || line[strspn(line, " \t\r\n")] == 0);
  if (sscanf(line, "%d %d %d", &a->unknowns, &columns, &a->count) != 3 || a->unknowns < 1 || a->count < 0)
    die("%s line %d should hold three sizes: rows, columns, entries", path, at);
  if (columns != a->unknowns)
    die("%s line %d: a symmetric matrix of %d rows has as many columns, not %d", path, at, a->unknowns, columns);
}

static Triangle read_matrix(const char* path) {
  Triangle a = {0, 0, NULL};
  FILE* file = fopen(path, "r");
  if (!file) die("cannot open the matrix %s: %s", path, strerror(errno));
  read_header(file, path, &a);
  a.entries = room(a.count, sizeof *a.entries);
  for (int i = 0; i < a.count; ++i) {
    Entry* e = &a.entries[i];
    if (fscanf(file, "%d %d %lf", &e->row, &e->column, &e->value) != 3)
      die("%s: entry %d of %d cannot be read; a row, a column and a value were expected", path, i + 1, a.count);
    if (e->column < 1 || e->row > a.unknowns || e->column > e->row || !isfinite(e->value))
      die("%s: entry %d (%d, %d, %g) lies outside of the lower triangle of %d rows, or is no number", path, i + 1,
          e->row, e->column, e->value, a.unknowns);
    --e->row;
    --e->column;
  }
  fclose(file);
  return a;
}

/* --- the distributed matrix -------------------------------------------------------------------- */

typedef struct {
  int rank, count, start; /* whom; how many values; where in the send list, or in the halo */
} Neighbour;

typedef struct {
  int n;               /* unknowns of all ranks */
  int first, rows;     /* mine */
  int *start, *column; /* compressed rows; columns < rows are mine, the others in the halo behind */
  double* value;
  int *inner, inners, *outer, outers; /* rows without and with halo columns */
  int halo, *halo_columns;            /* global numbers, ascending */
  Neighbour *from, *to;
  int froms, tos;
  int* send_rows;
  double* send_values;
  MPI_Request* requests;
} Matrix;

static int first_row(int n, int r) {
  return (int)((int64_t)n * r / ranks);
}
static int owner(int n, int row) {
  int r = (int)((int64_t)row * ranks / n);
  while (row < first_row(n, r)) --r;
  while (row >= first_row(n, r + 1)) ++r;
  return r;
}

/* Rank 0 has read the file; each rank gets its rows, both triangles. */
static Entry* distribute(const Triangle* a, int n, int* count) {
  int* counts = room(ranks, sizeof *counts);
  int* places = room(ranks + 1, sizeof *places);
  Entry* sorted = NULL;
  if (rank == 0) {
    for (int pass = 0; pass < 2; ++pass) {
      for (int i = 0; i < a->count; ++i) {
        const Entry e = a->entries[i], mirrored = {e.column, e.row, e.value};
        const int r = owner(n, e.row), m = owner(n, e.column);
        if (pass) sorted[places[r] + counts[r]] = e;
        ++counts[r];
        if (e.row == e.column) continue;
        if (pass) sorted[places[m] + counts[m]] = mirrored;
        ++counts[m];
      }
      if (pass) break;
      for (int r = 0; r < ranks; ++r) places[r + 1] = places[r] + counts[r];
      sorted = room(places[ranks], sizeof *sorted);
      memset(counts, 0, ranks * sizeof *counts);
    }
  }
  MPI_Scatter(counts, 1, MPI_INT, count, 1, MPI_INT, 0, MPI_COMM_WORLD);
  Entry* mine = room(*count, sizeof *mine);
  MPI_Datatype type;
  MPI_Type_contiguous(sizeof(Entry), MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_Scatterv(sorted, counts, places, type, mine, *count, type, 0, MPI_COMM_WORLD);
  MPI_Type_free(&type);
  free(counts);
  free(places);
  free(sorted);
  return mine;
}

static int by_number(const void* a, const void* b) {
  const int x = *(const int*)a, y = *(const int*)b;
  return (x > y) - (x < y);
}

/* Whose values I need, and who needs mine. */
static void find_neighbours(Matrix* m) {
  int* needed = room(ranks, sizeof *needed);
  int* asked = room(ranks, sizeof *asked);
  for (int i = 0; i < m->halo; ++i) ++needed[owner(m->n, m->halo_columns[i])];
  MPI_Alltoall(needed, 1, MPI_INT, asked, 1, MPI_INT, MPI_COMM_WORLD);
  m->from = room(ranks, sizeof *m->from);
  m->to = room(ranks, sizeof *m->to);
  int in = 0, out = 0;
  for (int r = 0; r < ranks; ++r) {
    if (needed[r]) m->from[m->froms++] = (Neighbour){r, needed[r], in};
    if (asked[r]) m->to[m->tos++] = (Neighbour){r, asked[r], out};
    in += needed[r];
    out += asked[r];
  }
  m->send_rows = room(out, sizeof *m->send_rows);
  m->send_values = room(out, sizeof *m->send_values);
  m->requests = room(m->froms + m->tos, sizeof *m->requests);
  for (int i = 0; i < m->tos; ++i)
    MPI_Irecv(m->send_rows + m->to[i].start, m->to[i].count, MPI_INT, m->to[i].rank, 1, MPI_COMM_WORLD,
              &m->requests[i]);
  for (int i = 0; i < m->froms; ++i)
    MPI_Send(m->halo_columns + m->from[i].start, m->from[i].count, MPI_INT, m->from[i].rank, 1, MPI_COMM_WORLD);
  MPI_Waitall(m->tos, m->requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < out; ++i) m->send_rows[i] -= m->first;
  free(needed);
  free(asked);
}

static Matrix assemble(const Entry* entries, int count, int n) {
  Matrix m = {.n = n, .first = first_row(n, rank), .rows = first_row(n, rank + 1) - first_row(n, rank)};
  m.start = room(m.rows + 1, sizeof *m.start);
  m.column = room(count, sizeof *m.column);
  m.value = room(count, sizeof *m.value);
  m.halo_columns = room(count, sizeof *m.halo_columns);
  for (int i = 0; i < count; ++i) {
    ++m.start[entries[i].row - m.first + 1];
    if (entries[i].column < m.first || entries[i].column >= m.first + m.rows)
      m.halo_columns[m.halo++] = entries[i].column;
  }
  for (int r = 0; r < m.rows; ++r) m.start[r + 1] += m.start[r];
  qsort(m.halo_columns, m.halo, sizeof *m.halo_columns, by_number);
  int unique = 0;
  for (int i = 0; i < m.halo; ++i)
    if (i == 0 || m.halo_columns[i] != m.halo_columns[unique - 1]) m.halo_columns[unique++] = m.halo_columns[i];
  m.halo = unique;

  int* next = room(m.rows, sizeof *next);
  m.inner = room(m.rows, sizeof *m.inner);
  m.outer = room(m.rows, sizeof *m.outer);
  for (int i = 0; i < count; ++i) {
    const int row = entries[i].row - m.first, at = m.start[row] + next[row]++;
    int column = entries[i].column - m.first;
    if (column < 0 || column >= m.rows) {
      const int* found = bsearch(&entries[i].column, m.halo_columns, m.halo, sizeof(int), by_number);
      column = m.rows + (int)(found - m.halo_columns);
    }
    m.column[at] = column;
    m.value[at] = entries[i].value;
  }
  for (int row = 0; row < m.rows; ++row) {
    int outside = 0;
    for (int i = m.start[row]; i < m.start[row + 1]; ++i) outside |= m.column[i] >= m.rows;
    if (outside)
      m.outer[m.outers++] = row;
    else
      m.inner[m.inners++] = row;
  }
  free(next);
  find_neighbours(&m);
  return m;
}

static void multiply_rows(const Matrix* m, const int* which, int count, const double* x, double* y) {
  for (int k = 0; k < count; ++k) {
    const int row = which[k];
    double sum = 0;
    for (int i = m->start[row]; i < m->start[row + 1]; ++i) sum += m->value[i] * x[m->column[i]];
    y[row] = sum;
  }
}

/* y = A x; x has room for the halo behind its own values. The halo travels while inner rows run. */
static void multiply(Matrix* m, double* x, double* y) {
  for (int i = 0; i < m->froms; ++i)
    MPI_Irecv(x + m->rows + m->from[i].start, m->from[i].count, MPI_DOUBLE, m->from[i].rank, 2, MPI_COMM_WORLD,
              &m->requests[i]);
  for (int i = 0; i < m->tos; ++i) {
    const Neighbour* to = &m->to[i];
    for (int k = to->start; k < to->start + to->count; ++k) m->send_values[k] = x[m->send_rows[k]];
    MPI_Isend(m->send_values + to->start, to->count, MPI_DOUBLE, to->rank, 2, MPI_COMM_WORLD,
              &m->requests[m->froms + i]);
  }
  multiply_rows(m, m->inner, m->inners, x, y);
  MPI_Waitall(m->froms + m->tos, m->requests, MPI_STATUSES_IGNORE);
  multiply_rows(m, m->outer, m->outers, x, y);
}

/* --- the method --------------------------------------------------------------------------------- */

static double dot(int n, const double* a, const double* b) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}
static double norm(int n, const double* a) {
  double sum = dot(n, a, a), all = 0;
  MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sqrt(all);
}

typedef struct {
  int iterations;
  double residual; /* as the recurrence has it, relative to b */
} Outcome;

/* Scaled by the diagonal on both sides beforehand, so no preconditioner stands here. */
static Outcome solve(Matrix* m, const double* b, double* x, double tolerance, int limit) {
  const int n = m->rows;
  double *r = room(n + m->halo, 8), *w = room(n + m->halo, 8), *q = room(n, 8);
  double *p = room(n, 8), *s = room(n, 8), *z = room(n, 8);
  const double size = norm(n, b);
  double gamma_before = 1, alpha_before = 1;
  Outcome outcome = {0, 0};
  memset(x, 0, n * sizeof *x);
  memcpy(r, b, n * sizeof *r);
  multiply(m, r, w);
  for (;; ++outcome.iterations) {
    double mine[2] = {dot(n, r, r), dot(n, w, r)}, all[2];
    MPI_Request sums;
    MPI_Iallreduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &sums);
    multiply(m, w, q); /* while the sums travel */
    MPI_Wait(&sums, MPI_STATUS_IGNORE);
    const double gamma = all[0], delta = all[1];
    outcome.residual = size > 0 ? sqrt(gamma) / size : 0;
    if (rank == 0 && (outcome.iterations % 20 == 0 || outcome.residual <= tolerance)) {
      printf("iteration %4d   residual %.3e\n", outcome.iterations, outcome.residual);
      fflush(stdout);
    }
    if (outcome.residual <= tolerance || outcome.iterations == limit || !isfinite(gamma)) break;
    const double beta = outcome.iterations ? gamma / gamma_before : 0;
    const double alpha = outcome.iterations ? gamma / (delta - beta * gamma / alpha_before) : gamma / delta;
    for (int i = 0; i < n; ++i) {
      z[i] = q[i] + beta * z[i];
      s[i] = w[i] + beta * s[i];
      p[i] = r[i] + beta * p[i];
      x[i] += alpha * p[i];
      r[i] -= alpha * s[i];
      w[i] -= alpha * z[i];
    }
    gamma_before = gamma;
    alpha_before = alpha;
  }
  free(r), free(w), free(q), free(p), free(s), free(z);
  return outcome;
}

/* A becomes D A D with ones on the diagonal; D is returned. */
static double* scale(Matrix* m) {
  double *d = room(m->rows + m->halo, 8), *ignored = room(m->rows, 8);
  for (int row = 0; row < m->rows; ++row) {
    double diagonal = 0;
    for (int i = m->start[row]; i < m->start[row + 1]; ++i)
      if (m->column[i] == row) diagonal += m->value[i];
    if (!(diagonal > 0))
      die("row %d has %g on the diagonal; a positive definite matrix has positive numbers there", m->first + row + 1,
          diagonal);
    d[row] = 1 / sqrt(diagonal);
  }
  multiply(m, d, ignored); /* brings the halo of d */
  for (int row = 0; row < m->rows; ++row)
    for (int i = m->start[row]; i < m->start[row + 1]; ++i) m->value[i] *= d[row] * d[m->column[i]];
  free(ignored);
  return d;
}

/* --- telling what ran where ---------------------------------------------------------------------- */

static void tell_places(const Matrix* m) {
  char line[MPI_MAX_PROCESSOR_NAME + 160], host[MPI_MAX_PROCESSOR_NAME];
  int length;
  MPI_Get_processor_name(host, &length);
  snprintf(line, sizeof line, "rank %3d on %s, core %d: rows %d to %d, halo of %d from %d ranks", rank, host,
           sched_getcpu(), m->first + 1, m->first + m->rows, m->halo, m->froms);
  if (!m->rows) snprintf(line, sizeof line, "rank %3d on %s, core %d: no rows", rank, host, sched_getcpu());
  if (rank) {
    MPI_Send(line, (int)strlen(line) + 1, MPI_CHAR, 0, 3, MPI_COMM_WORLD);
    return;
  }
  puts(line);
  for (int r = 1; r < ranks; ++r) {
    MPI_Recv(line, sizeof line, MPI_CHAR, r, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    puts(line);
  }
}

static double wanted_tolerance(int argc, char** argv) {
  if (argc < 3) return 1e-10;
  char* end;
  const double value = strtod(argv[2], &end);
  if (*end || !(value > 0) || !(value < 1)) die("the tolerance must be a number between 0 and 1, not \"%s\"", argv[2]);
  return value;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 2 || argc > 3) {
    if (rank == 0) fprintf(stderr, "usage: cg MATRIX.mtx [TOLERANCE]\n");
    MPI_Finalize();
    return 2;
  }
  const double started = MPI_Wtime();
  int sizes[2] = {0, 0};
  Triangle triangle = {0, 0, NULL};
  double tolerance = 0;
  if (rank == 0) {
    tolerance = wanted_tolerance(argc, argv);
    triangle = read_matrix(argv[1]);
    sizes[0] = triangle.unknowns;
    sizes[1] = triangle.count;
    printf("%s: %d unknowns, %d entries, on %d ranks\n", argv[1], sizes[0], sizes[1], ranks);
  }
  MPI_Bcast(sizes, 2, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Bcast(&tolerance, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  int count;
  Entry* entries = distribute(&triangle, sizes[0], &count);
  free(triangle.entries);
  Matrix m = assemble(entries, count, sizes[0]);
  free(entries);

  /* A known solution, a right-hand side made of it; then D A D (x/d) = D b. */
  const int n = m.rows;
  double *known = room(n + m.halo, 8), *b = room(n, 8), *x = room(n + m.halo, 8), *check = room(n, 8);
  double* d = scale(&m);
  for (int i = 0; i < n; ++i) known[i] = (1 + sin(0.05 * (m.first + i))) / d[i];
  multiply(&m, known, b);
  const Outcome outcome = solve(&m, b, x, tolerance, 20 * sizes[0] + 100);

  multiply(&m, x, check);
  for (int i = 0; i < n; ++i) {
    check[i] = b[i] - check[i];
    x[i] -= known[i];
  }
  const double residual = norm(n, check) / norm(n, b), error = norm(n, x) / norm(n, known);
  const int good = residual < 100 * tolerance && error < 1e6 * tolerance;
  tell_places(&m);
  if (rank == 0) {
    printf("solved in %d iterations and %.3f s: true residual %.3e, error against the known solution %.3e\n",
           outcome.iterations, MPI_Wtime() - started, residual, error);
    printf(good ? "The solution is right.\n" : "THE SOLUTION IS WRONG: the residual or the error is too large.\n");
  }
  free(known), free(b), free(x), free(check), free(d);
  free(m.start), free(m.column), free(m.value), free(m.inner), free(m.outer), free(m.halo_columns);
  free(m.from), free(m.to), free(m.send_rows), free(m.send_values), free(m.requests);
  MPI_Finalize();
  return good ? 0 : 1;
}
