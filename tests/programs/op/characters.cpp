// SPDX-License-Identifier: BSD-3-Clause
// Reductions that the standard does not define and that programs use: all on MPI_CHAR and MPI_CHARACTER, computed
// as C's char is, and logical ones on MPI_AINT, MPI_COUNT and MPI_OFFSET. By collectives, MPI_Reduce_local and,
// at a window, MPI_Accumulate; against a loop. NOT_OPENMPI: 4.1 compares MPI_AINT as unsigned.
#include "check.hpp"

namespace {

constexpr int kCount = 21;

template <class T>
T operand(int rank, int i) {
  return static_cast<T>(check::mix(rank, i) % 5 == 0 ? 0 : check::mix(rank, i));
}

template <class T, class F>
void run(const check::Program& world, MPI_Datatype type, MPI_Op op, const char* name, F combine) {
  T mine[kCount], all[kCount], out[kCount], window[kCount];
  for (int i = 0; i < kCount; ++i) {
    mine[i] = operand<T>(world.rank(), i);
    all[i] = operand<T>(0, i);
    for (int r = 1; r < world.size(); ++r) all[i] = static_cast<T>(combine(all[i], operand<T>(r, i)));
  }
  OK(MPI_Allreduce(mine, out, kCount, type, op, MPI_COMM_WORLD));
  for (int i = 0; i < kCount; ++i) CHECK_EQ_IN(out[i], all[i], "%s, %d", name, i);
  OK(MPI_Reduce(mine, out, kCount, type, op, 0, MPI_COMM_WORLD));
  for (int i = 0; i < kCount && world.rank() == 0; ++i) CHECK_EQ_IN(out[i], all[i], "%s, %d", name, i);
  for (int i = 0; i < kCount; ++i) out[i] = operand<T>(world.rank() + 1, i), window[i] = out[i];
  OK(MPI_Reduce_local(mine, out, kCount, type, op));
  for (int i = 0; i < kCount; ++i) CHECK_EQ_IN(out[i], static_cast<T>(combine(mine[i], window[i])), "%s, %d", name, i);
  MPI_Win win;
  OK(MPI_Win_create(window, sizeof window, sizeof(T), MPI_INFO_NULL, MPI_COMM_SELF, &win));
  OK(MPI_Win_fence(0, win));
  OK(MPI_Accumulate(mine, kCount, type, 0, 0, kCount, type, op, win));
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < kCount; ++i) CHECK_EQ_IN(window[i], out[i], "%s at a window, %d", name, i);
  OK(MPI_Win_free(&win));
}

template <class T>
void numbers(const check::Program& world, MPI_Datatype type) {
  run<T>(world, type, MPI_SUM, "sum", [](T a, T b) { return a + b; });
  run<T>(world, type, MPI_PROD, "prod", [](T a, T b) { return a * b; });
  run<T>(world, type, MPI_MAX, "max", [](T a, T b) { return a < b ? b : a; });
  run<T>(world, type, MPI_MIN, "min", [](T a, T b) { return b < a ? b : a; });
  run<T>(world, type, MPI_BAND, "band", [](T a, T b) { return a & b; });
  run<T>(world, type, MPI_BOR, "bor", [](T a, T b) { return a | b; });
  run<T>(world, type, MPI_BXOR, "bxor", [](T a, T b) { return a ^ b; });
}
template <class T>
void truths(const check::Program& world, MPI_Datatype type) {
  run<T>(world, type, MPI_LAND, "land", [](T a, T b) { return a && b; });
  run<T>(world, type, MPI_LOR, "lor", [](T a, T b) { return a || b; });
  run<T>(world, type, MPI_LXOR, "lxor", [](T a, T b) { return !a != !b; });
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  numbers<char>(world, MPI_CHAR);
  truths<char>(world, MPI_CHAR);
  numbers<char>(world, MPI_CHARACTER);
  truths<char>(world, MPI_CHARACTER);
  truths<MPI_Aint>(world, MPI_AINT);
  truths<MPI_Count>(world, MPI_COUNT);
  truths<MPI_Offset>(world, MPI_OFFSET);
}
