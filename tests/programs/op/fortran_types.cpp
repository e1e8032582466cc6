// SPDX-License-Identifier: BSD-3-Clause
// Reductions of the types that carry Fortran's names, where this library has them.
#include "check.hpp"

namespace {

template <class T>
void sum(const check::Program& world, MPI_Datatype type, const char* name) {
  if (type == MPI_DATATYPE_NULL) return;
  int size = -1;
  OK(MPI_Type_size(type, &size));
  if (size == MPI_UNDEFINED || size == 0) return;  // not in this library
  CHECK_EQ_IN(size, sizeof(T), "%s", name);
  std::vector<T> mine(21), out(21);
  for (int i = 0; i < 21; ++i) mine[i] = T(world.rank() + i % 4);
  OK(MPI_Allreduce(mine.data(), out.data(), 21, type, MPI_SUM, MPI_COMM_WORLD));
  for (int i = 0; i < 21; ++i) {
    T expected{};
    for (int r = 0; r < world.size(); ++r) expected += T(r + i % 4);
    CHECK(out[i] == expected);
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  sum<std::int32_t>(world, MPI_INTEGER, "INTEGER");
  sum<float>(world, MPI_REAL, "REAL");
  sum<double>(world, MPI_DOUBLE_PRECISION, "DOUBLE PRECISION");
  sum<std::complex<float>>(world, MPI_COMPLEX, "COMPLEX");
  sum<std::int8_t>(world, MPI_INTEGER1, "INTEGER*1");
  sum<std::int16_t>(world, MPI_INTEGER2, "INTEGER*2");
  sum<std::int32_t>(world, MPI_INTEGER4, "INTEGER*4");
  sum<std::int64_t>(world, MPI_INTEGER8, "INTEGER*8");
  sum<float>(world, MPI_REAL4, "REAL*4");
  sum<double>(world, MPI_REAL8, "REAL*8");
  sum<std::complex<float>>(world, MPI_COMPLEX8, "COMPLEX*8");
  sum<std::complex<double>>(world, MPI_COMPLEX16, "COMPLEX*16");

  const int mine = world.rank() % 2;
  int any = -1;
  OK(MPI_Allreduce(&mine, &any, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD));
  CHECK_EQ(any != 0, world.size() > 1);
  const float located[2] = {static_cast<float>(world.rank() % 3), static_cast<float>(world.rank())};
  float best[2] = {-1, -1};
  OK(MPI_Allreduce(located, best, 1, MPI_2REAL, MPI_MAXLOC, MPI_COMM_WORLD));
  CHECK_EQ(best[0], std::min(2, world.size() - 1));
  CHECK_EQ(best[1], std::min(2, world.size() - 1));
  const double wide[2] = {static_cast<double>(-(world.rank() % 3)), static_cast<double>(world.rank())};
  double least[2] = {-1, -1};
  OK(MPI_Allreduce(wide, least, 1, MPI_2DOUBLE_PRECISION, MPI_MINLOC, MPI_COMM_WORLD));
  CHECK_EQ(least[1], std::min(2, world.size() - 1));
  const int pair[2] = {7, world.rank() + 3};
  int lowest[2] = {-1, -1};
  OK(MPI_Allreduce(pair, lowest, 1, MPI_2INTEGER, MPI_MAXLOC, MPI_COMM_WORLD));
  CHECK_EQ(lowest[1], 3);
}
