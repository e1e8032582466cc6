// SPDX-License-Identifier: BSD-3-Clause
// C = A B on a grid of ranks: panels of A travel along rows, panels of B along columns, the next pair
// under way by Ibcast while the present one is multiplied. Whole numbers, so exact.
#include "check.hpp"

namespace {

constexpr int kSize = 96, kPanel = 8;
double a_at(int i, int j) {
  return check::mix(i, j, 1) % 10;
}
double b_at(int i, int j) {
  return check::mix(i, j, 2) % 10;
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  int down = 1;
  for (int k = 1; k * k <= world.size(); ++k)
    if (world.size() % k == 0) down = k;
  const int across = world.size() / down, y = world.rank() / across, x = world.rank() % across;
  MPI_Comm row, column;
  OK(MPI_Comm_split(MPI_COMM_WORLD, y, x, &row));
  OK(MPI_Comm_split(MPI_COMM_WORLD, x, y, &column));
  const int top = kSize * y / down, rows = kSize * (y + 1) / down - top;
  const int left = kSize * x / across, columns = kSize * (x + 1) / across - left;
  std::vector<double> c(rows * columns);

  struct Panels {
    std::vector<double> a, b;
    MPI_Request requests[2];
  } slots[2];
  const auto start = [&](int p, Panels& panels) {
    const int k = p * kPanel, root_a = p % across, root_b = p % down;
    panels.a.assign(rows * kPanel, -1);
    panels.b.assign(kPanel * columns, -1);
    if (x == root_a)
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < kPanel; ++j) panels.a[i * kPanel + j] = a_at(top + i, k + j);
    if (y == root_b)
      for (int i = 0; i < kPanel; ++i)
        for (int j = 0; j < columns; ++j) panels.b[i * columns + j] = b_at(k + i, left + j);
    OK(MPI_Ibcast(panels.a.data(), panels.a.size(), MPI_DOUBLE, root_a, row, &panels.requests[0]));
    OK(MPI_Ibcast(panels.b.data(), panels.b.size(), MPI_DOUBLE, root_b, column, &panels.requests[1]));
  };
  start(0, slots[0]);
  for (int p = 0; p < kSize / kPanel; ++p) {
    Panels& now = slots[p % 2];
    if (p + 1 < kSize / kPanel) start(p + 1, slots[(p + 1) % 2]);
    OK(MPI_Waitall(2, now.requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < rows; ++i)
      for (int k = 0; k < kPanel; ++k)
        for (int j = 0; j < columns; ++j) c[i * columns + j] += now.a[i * kPanel + k] * now.b[k * columns + j];
  }
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      double sum = 0;
      for (int k = 0; k < kSize; ++k) sum += a_at(top + i, k) * b_at(k, left + j);
      CHECK_EQ(c[i * columns + j], sum);
    }
  OK(MPI_Comm_free(&row));
  OK(MPI_Comm_free(&column));
}
