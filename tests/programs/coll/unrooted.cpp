// SPDX-License-Identifier: BSD-3-Clause
// Allgather(v), alltoall(v, w), allreduce, reduce_scatter(_block), scan, exscan: blocking and
// nonblocking, in place, counts from nothing to a megabyte, holes, empty blocks, mixed types.
// NOT_MPICH: 4.0 forgets the displacement in Allgatherv of one rank. NOT_OPENMPI: 4.1 mixes up blocks
// in Alltoallv in place.
#include "coll/call.hpp"

namespace {

constexpr int kCounts[] = {0, 1, 7, 128, 1023, 4096, 20011};

int value(int rank, int i, int seed = 0) {
  return static_cast<int>(check::mix(rank, i, seed) >> 8);
}

void allgather(const check::Program& world, Form form, int count) {
  const int size = world.size(), rank = world.rank();
  std::vector<int> mine(count), all(count * size, -1), expected(count * size);
  for (int i = 0; i < count; ++i) mine[i] = value(rank, i);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < count; ++i) expected[r * count + i] = value(r, i);
  CALL(form, Allgather, Iallgather, mine.data(), count, MPI_INT, all.data(), count, MPI_INT, MPI_COMM_WORLD);
  CHECK(all == expected);
  std::fill(all.begin(), all.end(), -1);
  std::copy(mine.begin(), mine.end(), all.begin() + rank * count);
  CALL(form, Allgather, Iallgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), count, MPI_INT, MPI_COMM_WORLD);
  CHECK(all == expected);

  std::vector<int> counts(size), places(size);
  int room = 2;
  for (int r = size - 1; r >= 0; --r) {
    counts[r] = r % 3 == 2 ? 0 : count + r * (count > 1);
    places[r] = room;
    room += counts[r] + r % 2 * 3;
  }
  mine.resize(counts[rank]);
  all.assign(room, -1);
  expected.assign(room, -1);
  for (int i = 0; i < counts[rank]; ++i) mine[i] = value(rank, i, 5);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < counts[r]; ++i) expected[places[r] + i] = value(r, i, 5);
  CALL(form, Allgatherv, Iallgatherv, mine.data(), counts[rank], MPI_INT, all.data(), counts.data(), places.data(),
       MPI_INT, MPI_COMM_WORLD);
  CHECK(all == expected);
  std::fill(all.begin(), all.end(), -1);
  std::copy(mine.begin(), mine.end(), all.begin() + places[rank]);
  CALL(form, Allgatherv, Iallgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), counts.data(), places.data(),
       MPI_INT, MPI_COMM_WORLD);
  CHECK(all == expected);
}

void alltoall(const check::Program& world, Form form, int count) {
  const int size = world.size(), rank = world.rank();
  std::vector<int> out(count * size), in(count * size, -1), expected(count * size);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < count; ++i) {
      out[r * count + i] = value(rank * 100 + r, i);
      expected[r * count + i] = value(r * 100 + rank, i);
    }
  CALL(form, Alltoall, Ialltoall, out.data(), count, MPI_INT, in.data(), count, MPI_INT, MPI_COMM_WORLD);
  CHECK(in == expected);
  in = out;
  CALL(form, Alltoall, Ialltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in.data(), count, MPI_INT, MPI_COMM_WORLD);
  CHECK(in == expected);
}

void alltoallv(const check::Program& world, Form form, int count) {
  const int size = world.size(), rank = world.rank();
  const auto length = [&](int a, int b) { return (a + b) % 4 == 1 ? 0 : count + (a * 3 + b) % 5; };
  std::vector<int> counts_out(size), places_out(size), counts_in(size), places_in(size);
  int room_out = 1, room_in = 2;
  for (int r = size - 1; r >= 0; --r) {
    counts_out[r] = length(rank, r);
    counts_in[r] = length(r, rank);
    places_out[r] = room_out;
    places_in[r] = room_in;
    room_out += counts_out[r] + 2;
    room_in += counts_in[r] + 1;
  }
  std::vector<int> out(room_out, -3), in(room_in, -1), expected(room_in, -1);
  for (int r = 0; r < size; ++r) {
    for (int i = 0; i < counts_out[r]; ++i) out[places_out[r] + i] = value(rank * 100 + r, i);
    for (int i = 0; i < counts_in[r]; ++i) expected[places_in[r] + i] = value(r * 100 + rank, i);
  }
  CALL(form, Alltoallv, Ialltoallv, out.data(), counts_out.data(), places_out.data(), MPI_INT, in.data(),
       counts_in.data(), places_in.data(), MPI_INT, MPI_COMM_WORLD);
  CHECK(in == expected);

  // In place: symmetric counts are needed.
  std::vector<int> counts(size), places(size);
  int room = 0;
  for (int r = 0; r < size; ++r) {
    counts[r] = (rank + r) % 3 == 0 ? 0 : count + (rank + r) % 5;
    places[r] = room;
    room += counts[r] + 1;
  }
  std::vector<int> both(room, -1), wanted(room, -1);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < counts[r]; ++i) {
      both[places[r] + i] = value(rank * 100 + r, i, 1);
      wanted[places[r] + i] = value(r * 100 + rank, i, 1);
    }
  CALL(form, Alltoallv, Ialltoallv, MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL, both.data(), counts.data(),
       places.data(), MPI_INT, MPI_COMM_WORLD);
  CHECK(both == wanted);
}

// To even ranks ints as a strided type, to odd ones doubles; displacements in bytes.
void alltoallw(const check::Program& world, Form form, int count) {
  const int size = world.size(), rank = world.rank();
  MPI_Datatype strided;
  OK(MPI_Type_vector(count, 1, 2, MPI_INT, &strided));
  OK(MPI_Type_commit(&strided));
  const int block = 8 * count + 8;
  std::vector<char> out(block * size, 1), in(block * size, 2);
  std::vector<int> counts_out(size), counts_in(size), places(size);
  std::vector<MPI_Datatype> types_out(size), types_in(size);
  for (int r = 0; r < size; ++r) {
    places[r] = block * r;
    // what is sent to r depends on r alone, what I receive on me
    types_out[r] = r % 2 ? MPI_DOUBLE : strided;
    counts_out[r] = r % 2 ? count : count > 0 ? 1 : 0;
    types_in[r] = rank % 2 ? MPI_DOUBLE : MPI_INT;
    counts_in[r] = count;
    for (int i = 0; i < count; ++i) {
      if (r % 2)
        reinterpret_cast<double*>(out.data() + places[r])[i] = value(rank, r, i);
      else
        reinterpret_cast<int*>(out.data() + places[r])[2 * i] = value(rank, r, i);
    }
  }
  CALL(form, Alltoallw, Ialltoallw, out.data(), counts_out.data(), places.data(), types_out.data(), in.data(),
       counts_in.data(), places.data(), types_in.data(), MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r) {
    for (int i = 0; i < count; ++i) {
      if (rank % 2)
        CHECK_EQ(reinterpret_cast<double*>(in.data() + places[r])[i], value(r, rank, i));
      else
        CHECK_EQ(reinterpret_cast<int*>(in.data() + places[r])[i], value(r, rank, i));
    }
    CHECK_EQ(in[places[r] + block - 1], 2);
  }
  OK(MPI_Type_free(&strided));
}

template <class T>
void reductions(const check::Program& world, Form form, int count, MPI_Datatype type) {
  const int size = world.size(), rank = world.rank();
  const auto operand = [](int r, int i) { return static_cast<T>(value(r, i, 9) % 100); };
  std::vector<T> mine(count), out(count, T(-1)), total(count), until(count), before(count);
  for (int i = 0; i < count; ++i) {
    mine[i] = operand(rank, i);
    for (int r = 0; r < size; ++r) {
      total[i] += operand(r, i);
      if (r <= rank) until[i] += operand(r, i);
      if (r < rank) before[i] += operand(r, i);
    }
  }
  CALL(form, Allreduce, Iallreduce, mine.data(), out.data(), count, type, MPI_SUM, MPI_COMM_WORLD);
  CHECK(out == total);
  out = mine;
  CALL(form, Allreduce, Iallreduce, MPI_IN_PLACE, out.data(), count, type, MPI_SUM, MPI_COMM_WORLD);
  CHECK(out == total);
  CALL(form, Scan, Iscan, mine.data(), out.data(), count, type, MPI_SUM, MPI_COMM_WORLD);
  CHECK(out == until);
  out = mine;
  CALL(form, Scan, Iscan, MPI_IN_PLACE, out.data(), count, type, MPI_SUM, MPI_COMM_WORLD);
  CHECK(out == until);
  CALL(form, Exscan, Iexscan, mine.data(), out.data(), count, type, MPI_SUM, MPI_COMM_WORLD);
  if (rank > 0) CHECK(out == before);
  out = mine;
  CALL(form, Exscan, Iexscan, MPI_IN_PLACE, out.data(), count, type, MPI_SUM, MPI_COMM_WORLD);
  if (rank > 0) CHECK(out == before);
}

void reduce_scatter(const check::Program& world, Form form, int count) {
  const int size = world.size(), rank = world.rank();
  const auto operand = [](int r, int i) { return value(r, i, 4) % 1000; };
  const auto total = [&](int i) {
    int sum = 0;
    for (int r = 0; r < size; ++r) sum += operand(r, i);
    return sum;
  };
  std::vector<int> mine(count * size), part(count, -1);
  for (int i = 0; i < count * size; ++i) mine[i] = operand(rank, i);
  CALL(form, Reduce_scatter_block, Ireduce_scatter_block, mine.data(), part.data(), count, MPI_INT, MPI_SUM,
       MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) CHECK_EQ(part[i], total(rank * count + i));
  auto place = mine;
  CALL(form, Reduce_scatter_block, Ireduce_scatter_block, MPI_IN_PLACE, place.data(), count, MPI_INT, MPI_SUM,
       MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) CHECK_EQ(place[i], total(rank * count + i));

  std::vector<int> counts(size);
  int start = 0, sum = 0;
  for (int r = 0; r < size; ++r) {
    counts[r] = r % 3 == 1 ? 0 : r % 2 ? count / 2 : count;
    if (r < rank) start += counts[r];
    sum += counts[r];
  }
  part.assign(counts[rank] + 1, -1);
  CALL(form, Reduce_scatter, Ireduce_scatter, mine.data(), part.data(), counts.data(), MPI_INT, MPI_SUM,
       MPI_COMM_WORLD);
  for (int i = 0; i < counts[rank]; ++i) CHECK_EQ(part[i], total(start + i));
  CHECK_EQ(part[counts[rank]], -1);
  place.assign(mine.begin(), mine.begin() + sum);
  place.resize(sum + 1);
  CALL(form, Reduce_scatter, Ireduce_scatter, MPI_IN_PLACE, place.data(), counts.data(), MPI_INT, MPI_SUM,
       MPI_COMM_WORLD);
  for (int i = 0; i < counts[rank]; ++i) CHECK_EQ(place[i], total(start + i));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  for (Form form : {Form::blocking, Form::nonblocking}) {
    for (int count : kCounts) {
      allgather(world, form, count);
      alltoall(world, form, count);
      alltoallv(world, form, count);
      alltoallw(world, form, count / 4);
      reductions<int>(world, form, count, MPI_INT);
      reductions<double>(world, form, count, MPI_DOUBLE);
      reduce_scatter(world, form, count);
    }
    reductions<double>(world, form, 131072 + 1, MPI_DOUBLE);
    reductions<float>(world, form, 262144, MPI_FLOAT);
    alltoall(world, form, 262144 / world.size());
    allgather(world, form, 262144 / world.size());
  }
}
