// SPDX-License-Identifier: BSD-3-Clause
// Heat on a plate: a five-point stencil on blocks of a two-dimensional grid of ranks, with halos as
// subarray types, against the same computation on one rank; equal to the last bit.
#include "check.hpp"

namespace {

constexpr int kWidth = 121, kHeight = 83, kSteps = 120;

using Field = std::vector<double>;

void step(const Field& from, Field& to, int rows, int columns) {
  const int w = columns + 2;
  for (int i = 1; i <= rows; ++i)
    for (int j = 1; j <= columns; ++j)
      to[i * w + j] = from[i * w + j] + 0.2 * (from[(i - 1) * w + j] + from[(i + 1) * w + j] + from[i * w + j - 1] +
                                               from[i * w + j + 1] - 4 * from[i * w + j]);
}
double initial(int i, int j) {
  return (check::mix(i, j) % 1000) / 7.0;
}

Field serial() {
  Field a((kHeight + 2) * (kWidth + 2)), b = a;
  for (int i = 0; i < kHeight; ++i)
    for (int j = 0; j < kWidth; ++j) a[(i + 1) * (kWidth + 2) + j + 1] = initial(i, j);
  for (int s = 0; s < kSteps; ++s) {
    step(a, b, kHeight, kWidth);
    std::swap(a, b);
  }
  return a;
}

MPI_Datatype part(int rows, int columns, int height, int width, int row, int column) {
  const int sizes[] = {rows, columns}, sub[] = {height, width}, start[] = {row, column};
  MPI_Datatype type;
  OK(MPI_Type_create_subarray(2, sizes, sub, start, MPI_ORDER_C, MPI_DOUBLE, &type));
  OK(MPI_Type_commit(&type));
  return type;
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  int across = 1;
  for (int k = 1; k * k <= world.size(); ++k)
    if (world.size() % k == 0) across = k;
  const int down = world.size() / across, y = world.rank() / across, x = world.rank() % across;
  const int top = kHeight * y / down, rows = kHeight * (y + 1) / down - top;
  const int left = kWidth * x / across, columns = kWidth * (x + 1) / across - left;
  const auto neighbour = [&](int dy, int dx) {
    const int ny = y + dy, nx = x + dx;
    return ny < 0 || ny >= down || nx < 0 || nx >= across ? MPI_PROC_NULL : ny * across + nx;
  };
  const int h = rows + 2, w = columns + 2;
  Field now(h * w), next(h * w);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) now[(i + 1) * w + j + 1] = initial(top + i, left + j);

  struct Side {
    int rank;
    MPI_Datatype out, in;
    int tag_out, tag_in;
  };
  const Side sides[] = {{neighbour(-1, 0), part(h, w, 1, columns, 1, 1), part(h, w, 1, columns, 0, 1), 0, 1},
                        {neighbour(1, 0), part(h, w, 1, columns, rows, 1), part(h, w, 1, columns, rows + 1, 1), 1, 0},
                        {neighbour(0, -1), part(h, w, rows, 1, 1, 1), part(h, w, rows, 1, 1, 0), 2, 3},
                        {neighbour(0, 1), part(h, w, rows, 1, 1, columns), part(h, w, rows, 1, 1, columns + 1), 3, 2}};
  for (int s = 0; s < kSteps; ++s) {
    MPI_Request requests[8];
    int n = 0;
    for (const Side& side : sides) {
      OK(MPI_Irecv(now.data(), 1, side.in, side.rank, side.tag_in, MPI_COMM_WORLD, &requests[n++]));
      OK(MPI_Isend(now.data(), 1, side.out, side.rank, side.tag_out, MPI_COMM_WORLD, &requests[n++]));
    }
    OK(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
    step(now, next, rows, columns);
    std::swap(now, next);
  }
  const Field expected = serial();
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      CHECK_EQ(now[(i + 1) * w + j + 1], expected[(top + i + 1) * (kWidth + 2) + left + j + 1]);
  for (Side side : sides) {
    OK(MPI_Type_free(&side.out));
    OK(MPI_Type_free(&side.in));
  }
}
