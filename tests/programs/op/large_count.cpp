// SPDX-License-Identifier: BSD-3-Clause
// Operations and reductions by their large-count forms. NOT_OPENMPI: 4.1 lacks them.
#include "check.hpp"

namespace {

void multiply(void* in, void* inout, MPI_Count* length, MPI_Datatype*) {
  // 2x2 matrices of unsigned, row by row: left operand times right operand
  auto* a = static_cast<std::uint32_t*>(in);
  auto* b = static_cast<std::uint32_t*>(inout);
  for (MPI_Count i = 0; i < *length; ++i, a += 4, b += 4) {
    const std::uint32_t c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
                                a[2] * b[1] + a[3] * b[3]};
    std::memcpy(b, c, sizeof c);
  }
}

std::vector<std::uint32_t> matrices(int rank, int count) {
  std::vector<std::uint32_t> m(4 * count);
  for (int i = 0; i < 4 * count; ++i) m[i] = check::mix(rank, i);
  return m;
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  const MPI_Count count = 700;
  MPI_Datatype type;
  MPI_Op op;
  OK(MPI_Type_contiguous_c(4, MPI_UNSIGNED, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Op_create_c(multiply, 0, &op));
  std::vector<std::vector<std::uint32_t>> prefix(1, matrices(0, count));
  for (int r = 1; r < world.size(); ++r) {
    auto right = matrices(r, count);
    MPI_Count length = count;
    multiply(prefix.back().data(), right.data(), &length, nullptr);
    prefix.push_back(right);
  }
  const auto mine = matrices(world.rank(), count);
  std::vector<std::uint32_t> out(4 * count);
  MPI_Request request;
  OK(MPI_Allreduce_c(mine.data(), out.data(), count, type, op, MPI_COMM_WORLD));
  CHECK(out == prefix.back());
  OK(MPI_Iallreduce_c(mine.data(), out.data(), count, type, op, MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(out == prefix.back());
  OK(MPI_Scan_c(mine.data(), out.data(), count, type, op, MPI_COMM_WORLD));
  CHECK(out == prefix[world.rank()]);
  OK(MPI_Reduce_c(mine.data(), out.data(), count, type, op, world.size() - 1, MPI_COMM_WORLD));
  if (world.rank() == world.size() - 1) CHECK(out == prefix.back());
  out = mine;
  OK(MPI_Reduce_local_c(matrices(world.rank() + 1, count).data(), out.data(), count, type, op));
  OK(MPI_Op_free(&op));
  OK(MPI_Type_free(&type));
}
