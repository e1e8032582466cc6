// SPDX-License-Identifier: BSD-3-Clause
// Derived datatypes at the origin and at the target: with gaps, with bounds below 0, nested, of
// many pieces, with absolute addresses; as many bytes on both sides, differently cut.
// NOT_OPENMPI: 4.1 fetches nothing where the target's datatype has gaps.
#include "check.hpp"

namespace {

constexpr int kInts = 6000;   // of each side's memory
constexpr int kStart = 2000;  // where the types' address lies in it

struct Shape {
  const char* name;
  MPI_Datatype type;
  int count;
};

MPI_Datatype committed(MPI_Datatype type) {
  OK(MPI_Type_commit(&type));
  return type;
}

// Of 240 ints each.
std::vector<Shape> shapes() {
  std::vector<Shape> all{{"ints", MPI_INT, 240}};
  MPI_Datatype t, inner;
  OK(MPI_Type_vector(60, 2, 5, MPI_INT, &t));
  all.push_back({"vector", committed(t), 2});
  OK(MPI_Type_create_hvector(20, 3, -44, MPI_INT, &t));  // backwards
  all.push_back({"backwards", committed(t), 4});
  std::vector<int> lengths, places;
  for (int i = 0; i < 40; ++i) lengths.push_back(i % 5 + 1), places.push_back(11 * (39 - i) - 100);
  OK(MPI_Type_indexed(40, lengths.data(), places.data(), MPI_INT, &t));
  all.push_back({"indexed", committed(t), 2});
  OK(MPI_Type_vector(3, 1, 2, MPI_INT, &inner));
  OK(MPI_Type_create_resized(inner, -8, 28, &t));
  OK(MPI_Type_free(&inner));
  all.push_back({"resized", committed(t), 80});
  const int block[] = {1, 2, 1};
  const MPI_Aint at[] = {-16, 0, 64};  // side by side they fill gaps, and none twice
  const MPI_Datatype parts[] = {MPI_INT, MPI_INT, t};
  OK(MPI_Type_create_struct(3, block, at, parts, &inner));
  all.push_back({"struct", committed(inner), 40});
  const int sizes[] = {12, 10, 8}, sub[] = {4, 6, 5}, start[] = {3, 2, 1};
  OK(MPI_Type_create_subarray(3, sizes, sub, start, MPI_ORDER_C, MPI_INT, &t));
  all.push_back({"subarray", committed(t), 2});
  OK(MPI_Type_contiguous(24, MPI_INT, &t));
  all.push_back({"contiguous", committed(t), 10});
  return all;
}

// The ints that a shape names, in the order of its type map: found by packing numbers.
std::vector<int> places_of(const Shape& shape) {
  std::vector<int> numbers(kInts), packed(240);
  std::iota(numbers.begin(), numbers.end(), 0);
  int position = 0;
  OK(MPI_Pack(numbers.data() + kStart, shape.count, shape.type, packed.data(), 240 * 4, &position, MPI_COMM_SELF));
  CHECK_EQ(position, 240 * 4);
  return packed;
}

void exchange(const check::Program& mpi, const Shape& here, const Shape& there, int way, MPI_Win win, int* memory) {
  const int me = mpi.rank(), size = mpi.size(), next = (me + 1) % size, before = (me + size - 1) % size;
  const std::vector<int> at_origin = places_of(here), at_target = places_of(there);
  std::vector<int> mine(kInts), expected(kInts), back_expected(kInts);
  for (int i = 0; i < kInts; ++i) {
    mine[static_cast<size_t>(i)] = back_expected[static_cast<size_t>(i)] = 100'000 * me + i;
    memory[i] = expected[static_cast<size_t>(i)] = -100'000 * me - i - 1;
  }
  for (size_t k = 0; k < 240; ++k) {
    int& target = expected[static_cast<size_t>(at_target[k])];
    const int theirs = 100'000 * before + at_origin[k];
    if (way == 0) target = theirs;
    if (way == 2 || way == 3) target += theirs;
    if (way == 1) back_expected[static_cast<size_t>(at_origin[k])] = -100'000 * next - at_target[k] - 1;
  }
  std::vector<int> old(kInts, 77);
  OK(MPI_Win_fence(0, win));
  int* const origin = mine.data() + kStart;
  if (way == 0)
    OK(MPI_Put(origin, here.count, here.type, next, kStart, there.count, there.type, win));
  else if (way == 1)
    OK(MPI_Get(origin, here.count, here.type, next, kStart, there.count, there.type, win));
  else if (way == 2)
    OK(MPI_Accumulate(origin, here.count, here.type, next, kStart, there.count, there.type, MPI_SUM, win));
  else
    OK(MPI_Get_accumulate(origin, here.count, here.type, old.data() + kStart, here.count, here.type, next, kStart,
                          there.count, there.type, MPI_SUM, win));
  OK(MPI_Win_fence(0, win));
  for (size_t i = 0; i < kInts; ++i) {
    CHECK_EQ_IN(memory[i], expected[i], "%s to %s, way %d, at %zu", here.name, there.name, way, i);
    CHECK_EQ_IN(mine[i], back_expected[i], "%s from %s, way %d, at %zu", here.name, there.name, way, i);
  }
  std::vector<int> old_expected(kInts, 77);
  if (way == 3)
    for (size_t k = 0; k < 240; ++k)
      old_expected[static_cast<size_t>(at_origin[k])] = -100'000 * next - at_target[k] - 1;
  for (size_t i = 0; i < kInts; ++i) CHECK_EQ_IN(old[i], old_expected[i], "%s of %s at %zu", here.name, there.name, i);
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

// So many pieces that the description is longer than the data, and a transfer of its own.
void many_pieces(const check::Program& mpi) {
  const int me = mpi.rank(), size = mpi.size(), next = (me + 1) % size, before = (me + size - 1) % size;
  constexpr int kPieces = 20'000;
  std::vector<int> places;
  for (int i = 0; i < kPieces; ++i) places.push_back(3 * i + (i * i) % 2);
  MPI_Datatype type;
  OK(MPI_Type_create_indexed_block(kPieces, 1, places.data(), MPI_SHORT, &type));
  OK(MPI_Type_commit(&type));
  std::vector<short> memory(3 * kPieces + 3, -1), mine(kPieces), back(kPieces);
  for (int i = 0; i < kPieces; ++i) mine[static_cast<size_t>(i)] = static_cast<short>(check::mix(me, i) % 1000);
  MPI_Win win;
  OK(MPI_Win_create(memory.data(), static_cast<MPI_Aint>(memory.size() * 2), 2, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_lock_all(0, win));
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Put(mine.data(), kPieces, MPI_SHORT, next, 0, 1, type, win));
    OK(MPI_Win_flush(next, win));
    OK(MPI_Accumulate(mine.data(), kPieces, MPI_SHORT, next, 0, 1, type, MPI_SUM, win));
    OK(MPI_Get_accumulate(nullptr, 0, MPI_DATATYPE_NULL, back.data(), 10, MPI_SHORT, next, 0, 10, MPI_SHORT, MPI_NO_OP,
                          win));
    OK(MPI_Win_flush(next, win));
    OK(MPI_Get(back.data(), kPieces, MPI_SHORT, next, 0, 1, type, win));
    OK(MPI_Win_flush(next, win));
    for (size_t k = 0; k < kPieces; ++k) CHECK_EQ(back[k], static_cast<short>(2 * mine[k]));
  }
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Type_free(&type));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  size_t k = 0;
  for (size_t i = 0; i < memory.size(); ++i) {
    const bool hit = k < kPieces && static_cast<size_t>(places[k]) == i;
    CHECK_EQ(memory[i],
             hit ? static_cast<short>(2 * (check::mix(before, static_cast<unsigned>(k)) % 1000)) : short{-1});
    k += hit;
  }
  OK(MPI_Win_free(&win));
}

// The type is freed while the operation is under way; the origin is MPI_BOTTOM.
void absolute(const check::Program& mpi) {
  const int me = mpi.rank(), size = mpi.size(), next = (me + 1) % size, before = (me + size - 1) % size;
  std::vector<int> memory(20'000, -1), first(10'000, me), second(10'000, me + 100);
  MPI_Win win;
  OK(MPI_Win_create(memory.data(), 80'000, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_fence(0, win));
  const int lengths[] = {10'000, 10'000};
  MPI_Aint at[2];
  OK(MPI_Get_address(second.data(), &at[0]));
  OK(MPI_Get_address(first.data(), &at[1]));
  MPI_Datatype type, target;
  OK(MPI_Type_create_hindexed(2, lengths, at, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Type_vector(10'000, 2, 2, MPI_INT, &target));
  OK(MPI_Type_commit(&target));
  OK(MPI_Put(MPI_BOTTOM, 1, type, next, 0, 1, target, win));
  OK(MPI_Type_free(&type));
  OK(MPI_Type_free(&target));
  OK(MPI_Win_fence(0, win));
  for (size_t i = 0; i < 20'000; ++i) CHECK_EQ(memory[i], i < 10'000 ? before + 100 : before);
  OK(MPI_Win_free(&win));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv);
  std::vector<Shape> all = shapes();
  std::vector<int> memory(kInts);
  MPI_Win win;
  OK(MPI_Win_create(memory.data(), kInts * 4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  for (const Shape& here : all)
    for (const Shape& there : all)
      for (int way = 0; way < 4; ++way) exchange(mpi, here, there, way, win, memory.data());
  OK(MPI_Win_free(&win));
  for (Shape& shape : all)
    if (shape.type != MPI_INT) OK(MPI_Type_free(&shape.type));
  many_pieces(mpi);
  absolute(mpi);
}
