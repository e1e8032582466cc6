// SPDX-License-Identifier: BSD-3-Clause
// Collectives of derived types with holes, different types on the two sides of the same signature,
// and counts that differ though the bytes agree.
#include "coll/call.hpp"

namespace {

struct Record {  // 12 bytes of data in 16
  int number;
  int hole;
  double weight;
};

std::vector<Record> records(int rank, int count) {
  std::vector<Record> out(count);
  for (int i = 0; i < count; ++i) out[i] = {rank * 1000 + i, -1, rank + i * .5};
  return out;
}
void verify(const Record* got, int rank, int count) {
  for (int i = 0; i < count; ++i) {
    CHECK_EQ(got[i].number, rank * 1000 + i);
    CHECK_EQ(got[i].hole, -7);  // the receiver's own
    CHECK_EQ(got[i].weight, rank + i * .5);
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  const int size = world.size(), rank = world.rank();
  MPI_Datatype record, pair;
  const int lengths[] = {1, 1};
  const MPI_Aint at[] = {0, 8};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
  OK(MPI_Type_create_struct(2, lengths, at, types, &record));
  OK(MPI_Type_commit(&record));
  OK(MPI_Type_contiguous(2, record, &pair));
  OK(MPI_Type_commit(&pair));
  for (Form form : {Form::blocking, Form::nonblocking})
    for (int count : {0, 2, 50, 4000}) {
      const auto mine = records(rank, count);
      const Record blank{-7, -7, -7};
      for (int root = 0; root < size; root += 3) {
        auto data = rank == root ? mine : std::vector<Record>(count, blank);
        if (rank % 2)
          CALL(form, Bcast, Ibcast, data.data(), count / 2, pair, root, MPI_COMM_WORLD);
        else
          CALL(form, Bcast, Ibcast, data.data(), count, record, root, MPI_COMM_WORLD);
        if (rank != root) verify(data.data(), root, count);
        std::vector<Record> all(count * size, blank);
        CALL(form, Gather, Igather, mine.data(), count, record, all.data(), count / 2, pair, root, MPI_COMM_WORLD);
        if (rank == root)
          for (int r = 0; r < size; ++r) verify(all.data() + r * count, r, count);
        std::vector<Record> part(count, blank);
        CALL(form, Scatter, Iscatter, all.data(), count / 2, pair, part.data(), count, record, root, MPI_COMM_WORLD);
        verify(part.data(), rank, count);
      }
      std::vector<Record> all(count * size, blank), exchanged(count * size, blank);
      CALL(form, Allgather, Iallgather, mine.data(), count / 2, pair, all.data(), count, record, MPI_COMM_WORLD);
      for (int r = 0; r < size; ++r) verify(all.data() + r * count, r, count);
      CALL(form, Alltoall, Ialltoall, all.data(), count, record, exchanged.data(), count / 2, pair, MPI_COMM_WORLD);
      for (int r = 0; r < size; ++r) verify(exchanged.data() + r * count, rank, count);
    }
  OK(MPI_Type_free(&record));
  OK(MPI_Type_free(&pair));
}
