// SPDX-License-Identifier: BSD-3-Clause
// Collectives of a byte to four megabytes (to one, among more than three ranks), blocking and
// nonblocking: powers of four and what is beside them, so that the bytes take every way they can.
#include "coll/call.hpp"

namespace {

using Bytes = std::vector<unsigned char>;

Bytes of_rank(int rank, int length) {
  return check::pattern(length, check::mix(rank, length));
}

void same(const Bytes& got, const Bytes& expected, const char* what, int length) {
  const auto wrong = std::mismatch(got.begin(), got.end(), expected.begin()).first;
  CHECK_EQ_IN(wrong - got.begin(), got.size(), "%s of %d bytes", what, length);
}

void collectives(const check::Program& world, Form form, int length) {
  const int size = world.size(), me = world.rank(), root = length % size;
  const Bytes mine = of_rank(me, length);
  Bytes all, total(length);
  for (int r = 0; r < size; ++r) {
    const Bytes theirs = of_rank(r, length);
    all.insert(all.end(), theirs.begin(), theirs.end());
    for (int i = 0; i < length; ++i) total[i] ^= theirs[i];
  }
  Bytes one = me == root ? mine : Bytes(length, 1);
  CALL(form, Bcast, Ibcast, one.data(), length, MPI_BYTE, root, MPI_COMM_WORLD);
  same(one, of_rank(root, length), "bcast", length);

  one.assign(length, 1);
  CALL(form, Allreduce, Iallreduce, mine.data(), one.data(), length, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD);
  same(one, total, "allreduce", length);
  one.assign(length, 1);
  CALL(form, Reduce, Ireduce, mine.data(), one.data(), length, MPI_BYTE, MPI_BXOR, root, MPI_COMM_WORLD);
  if (me == root) same(one, total, "reduce", length);

  Bytes many(all.size(), 1);
  CALL(form, Allgather, Iallgather, mine.data(), length, MPI_BYTE, many.data(), length, MPI_BYTE, MPI_COMM_WORLD);
  same(many, all, "allgather", length);
  many.assign(all.size(), 1);
  CALL(form, Gather, Igather, mine.data(), length, MPI_BYTE, many.data(), length, MPI_BYTE, root, MPI_COMM_WORLD);
  if (me == root) same(many, all, "gather", length);
  one.assign(length, 1);
  CALL(form, Scatter, Iscatter, all.data(), length, MPI_BYTE, one.data(), length, MPI_BYTE, root, MPI_COMM_WORLD);
  same(one, mine, "scatter", length);

  Bytes out, expected;
  for (int r = 0; r < size; ++r) {
    const Bytes to = of_rank(me * size + r, length), from = of_rank(r * size + me, length);
    out.insert(out.end(), to.begin(), to.end());
    expected.insert(expected.end(), from.begin(), from.end());
  }
  many.assign(all.size(), 1);
  CALL(form, Alltoall, Ialltoall, out.data(), length, MPI_BYTE, many.data(), length, MPI_BYTE, MPI_COMM_WORLD);
  same(many, expected, "alltoall", length);
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  const int longest = world.size() <= 3 ? 4 << 20 : 1 << 20;
  for (const Form form : {Form::blocking, Form::nonblocking})
    for (int power = 1; power <= longest; power *= 4)
      for (const int length : {power - 1, power, power + 1})
        if (length > 0 && length <= longest) collectives(world, form, length);
}
