/* SPDX-License-Identifier: BSD-3-Clause
 * Calls whose buffers and datatypes a compiler may compare, in C89 and later and in C++; type_tags.sh compiles them. What is
 * right, alone: nobody warns of it. With WRONG: eight wrong ones as well. With TAGS: without what is right and clang
 * accuses where it is asked to compare: a matrix, a struct, bytes, a const buffer before clang 19. */
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#if defined(__cplusplus)
#include <complex>
#endif

void right(void);
void wrong(void);

struct point {
  double x, y;
};

void right(void) {
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Status status;
  MPI_Request request;
  int ints[4] = {1, 2, 3, 4}, pairs[4] = {0, 0, 0, 0};
  unsigned unsigneds[2] = {1, 2};
  short shorts[2] = {1, 2};
  long longs[2] = {1, 2};
  int64_t wide[2] = {1, 2};
  int32_t exact[2] = {1, 2};
  float floats[2] = {1, 2};
  double doubles[4] = {1, 2, 3, 4};
  long double extended[2] = {1, 2};
  void* anything = ints;
  MPI_Send(ints, 4, MPI_INT, 0, 0, comm);
  MPI_Send(&ints[1], 1, MPI_INT, 0, 0, comm);
  MPI_Send(unsigneds, 2, MPI_UNSIGNED, 0, 0, comm);
  MPI_Send(shorts, 2, MPI_SHORT, 0, 0, comm);
  MPI_Send(longs, 2, MPI_LONG, 0, 0, comm);
  MPI_Send(wide, 2, MPI_INT64_T, 0, 0, comm);
  MPI_Send(wide, 2, MPI_LONG_LONG, 0, 0, comm);
  MPI_Send(wide, 2, MPI_LONG, 0, 0, comm);
  MPI_Send(exact, 2, MPI_INT32_T, 0, 0, comm);
  MPI_Send(exact, 2, MPI_INT, 0, 0, comm);
  MPI_Send(floats, 2, MPI_FLOAT, 0, 0, comm);
  MPI_Send(doubles, 4, MPI_DOUBLE, 0, 0, comm);
  MPI_Send(extended, 2, MPI_LONG_DOUBLE, 0, 0, comm);
  MPI_Send(anything, 2, MPI_DOUBLE, 0, 0, comm);
  MPI_Send(doubles, 32, MPI_BYTE, 0, 0, comm);
  MPI_Send(ints, 16, MPI_CHAR, 0, 0, comm);
  MPI_Send(pairs, 2, MPI_2INT, 0, 0, comm);
  MPI_Send(MPI_BOTTOM, 0, MPI_INT, 0, 0, comm);
  MPI_Send(NULL, 0, MPI_DOUBLE, 0, 0, comm);
  MPI_Recv(0, 0, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
  MPI_Recv(ints, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
  MPI_Irecv(doubles, 4, MPI_DOUBLE, 0, 0, comm, &request);
  MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
  MPI_Allreduce(MPI_IN_PLACE, doubles, 4, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Gather(ints, 1, MPI_INT, doubles, 1, MPI_DOUBLE, 0, comm);
#if !defined(TAGS) || (defined(__clang_major__) && __clang_major__ >= 19)
  {
    static const int constants[2] = {1, 2};
    const double* of_const = doubles;
    MPI_Send(constants, 2, MPI_INT, 0, 0, comm);
    MPI_Send(of_const, 4, MPI_DOUBLE, 0, 0, comm);
  }
#endif
#if !defined(TAGS)
  {
    int matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};
    static const double cube[2][2][2] = {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}};
    struct point points[2] = {{1, 2}, {3, 4}};
    char bytes[32] = "";
    enum color { red, green } colors[2] = {red, green};
    MPI_Send(matrix, 6, MPI_INT, 0, 0, comm);
    MPI_Send(&matrix, 6, MPI_INT, 0, 0, comm);
    MPI_Send(cube, 8, MPI_DOUBLE, 0, 0, comm);
    MPI_Send(points, 4, MPI_DOUBLE, 0, 0, comm);
    MPI_Recv(bytes, 4, MPI_DOUBLE, 0, 0, comm, MPI_STATUS_IGNORE);
    MPI_Send(colors, 2, MPI_INT, 0, 0, comm);
  }
#if defined(__cplusplus)
  {
    std::complex<double> complex[2];
    MPI_Send(complex, 2, MPI_CXX_DOUBLE_COMPLEX, 0, 0, comm);
    MPI_Send(complex, 4, MPI_DOUBLE, 0, 0, comm);
  }
#endif
#endif
}

void wrong(void) {
#if defined(WRONG)
  MPI_Comm comm = MPI_COMM_WORLD;
  int ints[4] = {1, 2, 3, 4};
  long longs[2] = {1, 2};
  float floats[4] = {1, 2, 3, 4};
  double doubles[4] = {1, 2, 3, 4};
  MPI_Win win = MPI_WIN_NULL;
  MPI_File file = MPI_FILE_NULL;
  MPI_Send(ints, 4, MPI_FLOAT, 0, 0, comm);
  MPI_Recv(doubles, 4, MPI_FLOAT, 0, 0, comm, MPI_STATUS_IGNORE);
  MPI_Bcast(longs, 2, MPI_INT, 0, comm);
  MPI_Allreduce(MPI_IN_PLACE, floats, 4, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Gather(doubles, 1, MPI_DOUBLE, floats, 1, MPI_DOUBLE, 0, comm);
  MPI_Put(ints, 1, MPI_UNSIGNED, 0, 0, 1, MPI_UNSIGNED, win);
  MPI_File_write_at(file, 0, floats, 4, MPI_INT32_T, MPI_STATUS_IGNORE);
  PMPI_Send(doubles, 4, MPI_INT, 0, 0, comm);
#endif
}
