// SPDX-License-Identifier: BSD-3-Clause
// Broadcasts to ranks that lay out the same data differently: as one run of bytes, with gaps, with
// the fields of a record in falling order, at irregular places. A record has 14 bytes of odd
// fields, so that whatever a broadcast is cut into ends within fields and records. Each rank's
// memory is compared as a whole, with the gaps.
#include "check.hpp"

namespace {

constexpr int kFields = 4,
              kBytes = 14;  // of a record: three characters, a double, a short, a character
constexpr int kLengths[kFields] = {3, 8, 2, 1};
constexpr unsigned char kUntouched = 0x5a;

enum Kind { run, padded, falling, spread, irregular, kinds };
constexpr MPI_Aint kPlaces[][kFields] = {{0, 3, 11, 13}, {1, 8, 16, 18}, {20, 10, 6, 0}, {0, 3, 11, 13}};
constexpr MPI_Aint kExtents[] = {kBytes, 24, 26, 17};

// The record number i of this kind.
MPI_Aint place(Kind kind, int i) {
  return kind == irregular ? 30 * MPI_Aint{i} + MPI_Aint{i} * i % 5 : i * kExtents[kind];
}
const MPI_Aint* places(Kind kind) {
  return kPlaces[kind == irregular ? padded : kind];
}

MPI_Datatype record(Kind kind) {
  const int lengths[] = {3, 1, 1, 1};
  const MPI_Datatype types[] = {MPI_SIGNED_CHAR, MPI_DOUBLE, MPI_INT16_T, MPI_SIGNED_CHAR};
  MPI_Datatype fields, type;
  OK(MPI_Type_create_struct(kFields, lengths, places(kind), types, &fields));
  OK(MPI_Type_create_resized(fields, 0, kExtents[kind], &type));
  OK(MPI_Type_free(&fields));
  return type;
}

struct Description {
  Description(Kind kind, int records) : count(kind == irregular ? 1 : records) {
    type = record(kind == irregular ? padded : kind);
    if (kind == irregular) {
      std::vector<MPI_Aint> at;
      for (int i = 0; i < records; ++i) at.push_back(place(kind, i));
      MPI_Datatype one = type;
      OK(MPI_Type_create_hindexed_block(records, 1, at.data(), one, &type));
      OK(MPI_Type_free(&one));
    }
    OK(MPI_Type_commit(&type));
  }
  ~Description() { MPI_Type_free(&type); }
  Description(const Description&) = delete;
  MPI_Datatype type;
  int count;
};

using Image = std::vector<unsigned char>;
Image blank(Kind kind, int records) {
  return Image(static_cast<size_t>(place(kind, records)) + 40, kUntouched);
}
Image filled(Kind kind, int records, unsigned seed) {
  Image image = blank(kind, records);
  unsigned n = check::mix(seed);
  for (int i = 0; i < records; ++i)
    for (int f = 0; f < kFields; ++f)
      for (int k = 0; k < kLengths[f]; ++k)
        image[static_cast<size_t>(place(kind, i) + places(kind)[f] + k)] =
            static_cast<unsigned char>((n += 2654435761u) >> 23);
  return image;
}

// Who describes it how.
Kind kind_of(int mix, int rank, int root) {
  switch (mix) {
    case 0:
      return rank == root ? run : static_cast<Kind>(1 + rank % 4);
    case 1:
      return rank == root ? irregular : run;
    case 2:
      return static_cast<Kind>((rank + root) % kinds);
    default:
      return padded;
  }
}

void broadcasts(int rank, int root, int mix, int records) {
  const Kind kind = kind_of(mix, rank, root);
  const Description description(kind, records);
  Image data;
  unsigned seed = static_cast<unsigned>(records * 4 + mix);
  const auto prepared = [&] {
    ++seed;
    const Image next = rank == root ? filled(kind, records, seed) : blank(kind, records);
    data.assign(next.begin(), next.end());  // where it is
  };
  const auto arrived = [&](const char* form) {
    const Image expected = filled(kind, records, seed);
    const auto wrong = std::mismatch(data.begin(), data.end(), expected.begin()).first - data.begin();
    CHECK_EQ_IN(wrong, static_cast<long>(data.size()), "%s, %d records from rank %d, mix %d", form, records, root, mix);
  };
  prepared();
  OK(MPI_Bcast(data.data(), description.count, description.type, root, MPI_COMM_WORLD));
  arrived("blocking");
  prepared();
  MPI_Request request;
  OK(MPI_Ibcast(data.data(), description.count, description.type, root, MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  arrived("nonblocking");
#if MPI_VERSION >= 4
  OK(MPI_Bcast_init(data.data(), description.count, description.type, root, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  for (int start = 0; start < 2; ++start) {
    prepared();
    OK(MPI_Start(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    arrived("persistent");
  }
  OK(MPI_Request_free(&request));
#endif
}

// Several at once, so that one has started before another is over.
void outstanding(int rank, int size, int records) {
  std::vector<Image> data;
  std::vector<MPI_Request> requests(static_cast<size_t>(size));
  const auto kind = static_cast<Kind>(rank % kinds);
  const Description description(kind, records);
  for (int root = 0; root < size; ++root)
    data.push_back(rank == root ? filled(kind, records, static_cast<unsigned>(root)) : blank(kind, records));
  for (int root = 0; root < size; ++root)
    OK(MPI_Ibcast(data[static_cast<size_t>(root)].data(), description.count, description.type, root, MPI_COMM_WORLD,
                  &requests[static_cast<size_t>(root)]));
  OK(MPI_Waitall(size, requests.data(), MPI_STATUSES_IGNORE));
  for (int root = 0; root < size; ++root)
    CHECK(data[static_cast<size_t>(root)] == filled(kind, records, static_cast<unsigned>(root)));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Program world(&argc, &argv);
  for (const int records : {1, 7, 1171, 90001})  // 14 bytes; fewer than ranks; more than 16 KiB; 1.2 MiB
    for (int mix = 0; mix < 4; ++mix)
      for (const int root : {0, world.size() - 1})
        if (root == 0 || world.size() > 1) broadcasts(world.rank(), root, mix, records);
  outstanding(world.rank(), world.size(), 3001);
  return 0;
}
