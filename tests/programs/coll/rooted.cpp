// SPDX-License-Identifier: BSD-3-Clause
// Barrier, bcast, gather(v), scatter(v), reduce: every root, blocking and nonblocking, many counts.
// NOT_MPICH: 4.0 reads MPI_IN_PLACE as an address in Reduce of nothing.
#include "coll/call.hpp"

namespace {

constexpr int kCounts[] = {0, 1, 7, 127, 1024, 2049, 16384, 131072};

int value(int rank, int i, int seed) {
  return static_cast<int>(check::mix(rank, i, seed) >> 8);
}
std::vector<int> values(int rank, int count, int seed) {
  std::vector<int> v(count);
  for (int i = 0; i < count; ++i) v[i] = value(rank, i, seed);
  return v;
}

void bcast(const check::Program& world, Form form, int root, int count) {
  auto data = world.rank() == root ? values(root, count, count) : std::vector<int>(count, -1);
  data.push_back(-9);
  CALL(form, Bcast, Ibcast, data.data(), count, MPI_INT, root, MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) CHECK_EQ_IN(data[i], value(root, i, count), "count %d, root %d", count, root);
  CHECK_EQ(data[count], -9);
}

void gather_scatter(const check::Program& world, Form form, int root, int count) {
  const int size = world.size(), rank = world.rank();
  const bool here = rank == root;
  const auto mine = values(rank, count, root);
  std::vector<int> all(here ? count * size : 0, -1), part(count, -1);
  CALL(form, Gather, Igather, mine.data(), count, MPI_INT, here ? all.data() : nullptr, count, MPI_INT, root,
       MPI_COMM_WORLD);
  if (here)
    for (int r = 0; r < size; ++r)
      for (int i = 0; i < count; ++i)
        CHECK_EQ_IN(all[r * count + i], value(r, i, root), "gather of %d, root %d", count, root);
  CALL(form, Scatter, Iscatter, here ? all.data() : nullptr, count, MPI_INT, part.data(), count, MPI_INT, root,
       MPI_COMM_WORLD);
  CHECK(part == mine);
  // in place at the root
  if (here) std::copy(mine.begin(), mine.end(), all.begin() + root * count);
  if (here)
    CALL(form, Gather, Igather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), count, MPI_INT, root, MPI_COMM_WORLD);
  else
    CALL(form, Gather, Igather, mine.data(), count, MPI_INT, nullptr, 0, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
  if (here) {
    for (int r = 0; r < size; ++r)
      for (int i = 0; i < count; ++i) CHECK_EQ(all[r * count + i], value(r, i, root));
    CALL(form, Scatter, Iscatter, all.data(), count, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
  } else {
    CALL(form, Scatter, Iscatter, nullptr, 0, MPI_DATATYPE_NULL, part.data(), count, MPI_INT, root, MPI_COMM_WORLD);
    CHECK(part == mine);
  }
}

// Blocks of different lengths, some empty, with holes between them, in reverse order.
void gatherv_scatterv(const check::Program& world, Form form, int root, int count) {
  const int size = world.size(), rank = world.rank();
  std::vector<int> counts(size), places(size);
  int room = 3;
  for (int r = size - 1; r >= 0; --r) {
    counts[r] = r % 3 == 1 ? 0 : count + r;
    places[r] = room;
    room += counts[r] + r % 2 * 5;
  }
  const auto mine = values(rank, counts[rank], root);
  std::vector<int> all(room, -1), expected(room, -1), part(counts[rank], -1);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < counts[r]; ++i) expected[places[r] + i] = value(r, i, root);
  CALL(form, Gatherv, Igatherv, mine.data(), counts[rank], MPI_INT, all.data(), counts.data(), places.data(), MPI_INT,
       root, MPI_COMM_WORLD);
  if (rank == root) CHECK(all == expected);
  CALL(form, Scatterv, Iscatterv, all.data(), counts.data(), places.data(), MPI_INT, part.data(), counts[rank], MPI_INT,
       root, MPI_COMM_WORLD);
  CHECK(part == mine);
  if (rank == root) {
    std::fill(all.begin(), all.end(), -1);
    std::copy(mine.begin(), mine.end(), all.begin() + places[root]);
    CALL(form, Gatherv, Igatherv, MPI_IN_PLACE, 0, MPI_INT, all.data(), counts.data(), places.data(), MPI_INT, root,
         MPI_COMM_WORLD);
    CHECK(all == expected);
    CALL(form, Scatterv, Iscatterv, all.data(), counts.data(), places.data(), MPI_INT, MPI_IN_PLACE, 0, MPI_INT, root,
         MPI_COMM_WORLD);
    CHECK(all == expected);
  } else {
    CALL(form, Gatherv, Igatherv, mine.data(), counts[rank], MPI_INT, nullptr, nullptr, nullptr, MPI_INT, root,
         MPI_COMM_WORLD);
    CALL(form, Scatterv, Iscatterv, nullptr, nullptr, nullptr, MPI_INT, part.data(), counts[rank], MPI_INT, root,
         MPI_COMM_WORLD);
    CHECK(part == mine);
  }
}

void reduce(const check::Program& world, Form form, int root, int count) {
  const bool here = world.rank() == root;
  std::vector<double> mine(count), out(count, -1), expected(count);
  for (int i = 0; i < count; ++i) {
    mine[i] = value(world.rank(), i, 3) % 1000;
    for (int r = 0; r < world.size(); ++r) expected[i] += value(r, i, 3) % 1000;
  }
  CALL(form, Reduce, Ireduce, mine.data(), here ? out.data() : nullptr, count, MPI_DOUBLE, MPI_SUM, root,
       MPI_COMM_WORLD);
  if (here) CHECK(out == expected);
  if (here) {
    out = mine;
    CALL(form, Reduce, Ireduce, MPI_IN_PLACE, out.data(), count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
    CHECK(out == expected);
  } else {
    const auto before = mine;
    CALL(form, Reduce, Ireduce, mine.data(), nullptr, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
    CHECK(mine == before);
  }
}

// Nobody leaves a barrier before the last has come.
void barrier(const check::Program& world, Form form) {
  for (int late = 0; late < world.size(); ++late) {
    int arrived = 0, flag = 0;
    MPI_Request notice;
    if (world.rank() != late) OK(MPI_Irecv(&arrived, 1, MPI_INT, late, 1, MPI_COMM_WORLD, &notice));
    if (world.rank() == late) {
      for (int r = 0; r < world.size(); ++r) {
        const int now = 1;
        if (r != late) OK(MPI_Ssend(&now, 1, MPI_INT, r, 1, MPI_COMM_WORLD));
      }
      CALL(form, Barrier, Ibarrier, MPI_COMM_WORLD);
    } else {
      CALL(form, Barrier, Ibarrier, MPI_COMM_WORLD);
      OK(MPI_Test(&notice, &flag, MPI_STATUS_IGNORE));
      if (!flag) OK(MPI_Wait(&notice, MPI_STATUS_IGNORE));
      CHECK_EQ(arrived, 1);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  for (Form form : {Form::blocking, Form::nonblocking}) {
    barrier(world, form);
    for (int count : kCounts)
      for (int root = 0; root < world.size(); ++root) {
        if (count > 20000 && root != 0 && root != world.size() - 1) continue;
        bcast(world, form, root, count);
        reduce(world, form, root, count);
        if (count > 20000) continue;
        gather_scatter(world, form, root, count);
        gatherv_scatterv(world, form, root, count);
      }
  }
}
