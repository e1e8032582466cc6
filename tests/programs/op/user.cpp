// SPDX-License-Identifier: BSD-3-Clause
// User-defined operations: commutative and not, on basic and derived types, in every reduction; rank
// order of operands; the same bits on every run.
#include "check.hpp"

namespace {

// Affine maps x -> a x + b modulo 2^32 under composition: associative, not commutative, and every
// wrong order or missing operand changes the result.
struct Affine {
  std::uint32_t a, b;
  bool operator==(const Affine& o) const { return a == o.a && b == o.b; }
};
Affine then(const Affine& first, const Affine& second) {
  return {first.a * second.a, second.a * first.b + second.b};
}
Affine affine(int rank, int i) {
  return {check::mix(rank, i) | 1, check::mix(i, rank, 1)};
}

void compose(void* in, void* inout, int* length, MPI_Datatype*) {
  auto* left = static_cast<Affine*>(in);
  auto* right = static_cast<Affine*>(inout);
  for (int i = 0; i < *length; ++i) right[i] = then(left[i], right[i]);
}

// Ranges of ranks under joining: says itself which order is wrong.
struct Range {
  int first, last, broken;
};
void join(void* in, void* inout, int* length, MPI_Datatype*) {
  auto* left = static_cast<Range*>(in);
  auto* right = static_cast<Range*>(inout);
  for (int i = 0; i < *length; ++i)
    right[i] = {left[i].first, right[i].last, left[i].broken || right[i].broken || left[i].last + 1 != right[i].first};
}

void larger_magnitude(void* in, void* inout, int* length, MPI_Datatype*) {
  auto* a = static_cast<double*>(in);
  auto* b = static_cast<double*>(inout);
  for (int i = 0; i < *length; ++i)
    if (std::abs(a[i]) > std::abs(b[i])) b[i] = a[i];
}

Affine folded(int first, int last, int i) {
  Affine all = affine(first, i);
  for (int r = first + 1; r <= last; ++r) all = then(all, affine(r, i));
  return all;
}

void non_commutative(const check::Program& world, MPI_Datatype type, MPI_Op op, int count) {
  const int size = world.size(), rank = world.rank();
  std::vector<Affine> mine(count), out(count);
  for (int i = 0; i < count; ++i) mine[i] = affine(rank, i);
  const auto verify = [&](const std::vector<Affine>& got, int first, int last, int shift, const char* what) {
    for (size_t i = 0; i < got.size(); ++i) {
      const Affine expected = folded(first, last, i + shift);
      CHECK_EQ_IN(got[i].a, expected.a, "%s of %d, element %zu", what, count, i);
      CHECK_EQ_IN(got[i].b, expected.b, "%s of %d, element %zu", what, count, i);
    }
  };
  OK(MPI_Allreduce(mine.data(), out.data(), count, type, op, MPI_COMM_WORLD));
  verify(out, 0, size - 1, 0, "allreduce");
  out = mine;
  OK(MPI_Allreduce(MPI_IN_PLACE, out.data(), count, type, op, MPI_COMM_WORLD));
  verify(out, 0, size - 1, 0, "allreduce in place");
  for (int root = 0; root < size; ++root) {
    OK(MPI_Reduce(mine.data(), out.data(), count, type, op, root, MPI_COMM_WORLD));
    if (rank == root) verify(out, 0, size - 1, 0, "reduce");
  }
  OK(MPI_Scan(mine.data(), out.data(), count, type, op, MPI_COMM_WORLD));
  verify(out, 0, rank, 0, "scan");
  OK(MPI_Exscan(mine.data(), out.data(), count, type, op, MPI_COMM_WORLD));
  if (rank > 0) verify(out, 0, rank - 1, 0, "exscan");

  // reduce_scatter(_block): rank r gets the elements from its own place on
  std::vector<Affine> wide(count * size), part(count);
  for (int i = 0; i < count * size; ++i) wide[i] = affine(rank, i);
  OK(MPI_Reduce_scatter_block(wide.data(), part.data(), count, type, op, MPI_COMM_WORLD));
  verify(part, 0, size - 1, rank * count, "reduce_scatter_block");
  std::vector<int> counts(size);
  int before = 0, total = 0;
  for (int r = 0; r < size; ++r) {
    counts[r] = r % 2 ? 0 : count;
    before += r < rank ? counts[r] : 0;
    total += counts[r];
  }
  part.resize(counts[rank]);
  OK(MPI_Reduce_scatter(wide.data(), part.data(), counts.data(), type, op, MPI_COMM_WORLD));
  verify(part, 0, size - 1, before, "reduce_scatter");
  CHECK(total <= count * size);
}

void order(const check::Program& world) {
  MPI_Datatype type;
  MPI_Op op;
  OK(MPI_Type_contiguous(3, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Op_create(join, 0, &op));
  for (int count : {1, 10, 5000}) {
    const std::vector<Range> mine(count, Range{world.rank(), world.rank(), 0});
    std::vector<Range> out(count);
    MPI_Request request;
    OK(MPI_Iallreduce(mine.data(), out.data(), count, type, op, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (const Range& each : out) {
      CHECK_EQ(each.first, 0);
      CHECK_EQ(each.last, world.size() - 1);
      CHECK_EQ(each.broken, 0);
    }
  }
  int commutative = -1;
  OK(MPI_Op_commutative(op, &commutative));
  CHECK_EQ(commutative, 0);
  OK(MPI_Op_commutative(MPI_SUM, &commutative));
  CHECK_EQ(commutative, 1);
  // Freed while in use.
  const Range mine{world.rank(), world.rank(), 0};
  Range out{};
  MPI_Request request;
  OK(MPI_Iallreduce(&mine, &out, 1, type, op, MPI_COMM_WORLD, &request));
  OK(MPI_Op_free(&op));
  OK(MPI_Type_free(&type));
  CHECK(op == MPI_OP_NULL);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_EQ(out.last, world.size() - 1);
  CHECK_EQ(out.broken, 0);
}

void commutative(const check::Program& world) {
  MPI_Op op;
  OK(MPI_Op_create(larger_magnitude, 1, &op));
  for (int count : {1, 100, 60000}) {
    std::vector<double> mine(count), out(count);
    for (int i = 0; i < count; ++i) mine[i] = (world.rank() % 2 ? -1 : 1) * double((world.rank() + i) % world.size());
    OK(MPI_Allreduce(mine.data(), out.data(), count, MPI_DOUBLE, op, MPI_COMM_WORLD));
    for (int i = 0; i < count; ++i) CHECK_EQ(std::abs(out[i]), world.size() - 1);
  }
  double left = -5, right = 3;
  OK(MPI_Reduce_local(&left, &right, 1, MPI_DOUBLE, op));
  CHECK_EQ(right, -5.);
  OK(MPI_Op_free(&op));
}

// Sums of numbers whose order matters: the same bits every time.
void reproducible(const check::Program& world) {
  for (int count : {1, 1000, 50000}) {
    std::vector<double> mine(count), first(count), again(count);
    for (int i = 0; i < count; ++i) mine[i] = 1.0 / (1 + check::mix(world.rank(), i) % 1000) * (i % 2 ? -1e8 : 1e-3);
    OK(MPI_Allreduce(mine.data(), first.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    for (int run = 0; run < 10; ++run) {
      MPI_Request request;
      OK(MPI_Iallreduce(mine.data(), again.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      OK(MPI_Allreduce(mine.data(), again.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
      CHECK(std::memcmp(first.data(), again.data(), count * sizeof(double)) == 0);
    }
    // and on every rank
    std::vector<double> roots = first;
    OK(MPI_Bcast(roots.data(), count, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    CHECK(std::memcmp(first.data(), roots.data(), count * sizeof(double)) == 0);
  }
}

// Operands with holes: the operation is given addresses by the type's extent.
void holes(const check::Program& world) {
  MPI_Datatype bare, type;
  OK(MPI_Type_contiguous(2, MPI_UNSIGNED, &bare));
  OK(MPI_Type_create_resized(bare, 0, 24, &type));
  OK(MPI_Type_commit(&type));
  MPI_Op op;
  OK(MPI_Op_create(
      [](void* in, void* inout, int* length, MPI_Datatype*) {
        for (int i = 0; i < *length; ++i) {
          auto* left = reinterpret_cast<Affine*>(static_cast<char*>(in) + 24 * i);
          auto* right = reinterpret_cast<Affine*>(static_cast<char*>(inout) + 24 * i);
          *right = then(*left, *right);
        }
      },
      0, &op));
  struct Cell {
    Affine map;
    unsigned untouched[4];
  };
  for (int count : {1, 3, 3000}) {
    std::vector<Cell> mine(count), out(count);
    for (int i = 0; i < count; ++i) {
      mine[i] = {affine(world.rank(), i), {1, 2, 3, 4}};
      out[i] = {{0, 0}, {5, 6, 7, 8}};
    }
    OK(MPI_Allreduce(mine.data(), out.data(), count, type, op, MPI_COMM_WORLD));
    for (int i = 0; i < count; ++i) {
      CHECK(out[i].map == folded(0, world.size() - 1, i));
      for (int k = 0; k < 4; ++k) CHECK_EQ(out[i].untouched[k], 5 + k);
    }
  }
  OK(MPI_Op_free(&op));
  OK(MPI_Type_free(&type));
  OK(MPI_Type_free(&bare));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  MPI_Datatype type;
  MPI_Op op;
  OK(MPI_Type_contiguous(2, MPI_UNSIGNED, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Op_create(compose, 0, &op));
  for (int count : {0, 1, 17, 1500, 20000}) non_commutative(world, type, op, count);
  OK(MPI_Op_free(&op));
  OK(MPI_Type_free(&type));
  order(world);
  commutative(world);
  reproducible(world);
  holes(world);
}
