// SPDX-License-Identifier: BSD-3-Clause
// Every way to write and to read (MPI 5.0, section 14.4): by explicit offsets, individual and shared pointers, in order;
// blocking, nonblocking and split, by each rank alone and by all; with int and with MPI_Count.
#include "file/scratch.hpp"

namespace {

constexpr int kCount = 37;  // integers that a rank writes in a round

int value(int rank, int round, int i) {
  return static_cast<int>(check::mix(rank, round, i));
}

using Block = std::vector<int>;
Block block_of(int rank, int round) {
  Block block(kCount);
  for (int i = 0; i < kCount; ++i) block[i] = value(rank, round, i);
  return block;
}
void check_block(const Block& got, int rank, int round, const char* way) {
  for (int i = 0; i < kCount; ++i)
    CHECK_EQ_IN(got[i], value(rank, round, i), "%s, element %d of rank %d", way, i, rank);
}

struct Way {
  const char* name;
  enum class Place { at, individual, shared, ordered } place;
  std::function<void(MPI_File, MPI_Offset, const int*)> write;
  std::function<void(MPI_File, MPI_Offset, int*)> read;
};

void waited(MPI_Request* request) {
  MPI_Status status;
  OK(MPI_Wait(request, &status));
  CHECK(*request == MPI_REQUEST_NULL);
  check_count(status, MPI_INT, kCount);
}
void counted(const MPI_Status& status) {
  check_count(status, MPI_INT, kCount);
}

// NAME stands for MPI_File_read…, of which there is an MPI_File_write…. `at` puts the offset where there is one.
#define BLOCKING(WRITE, READ, PLACE, ...)                         \
  {#WRITE, Way::Place::PLACE,                                     \
   [](MPI_File f, [[maybe_unused]] MPI_Offset at, const int* b) { \
     MPI_Status s;                                                \
     OK(WRITE(f, __VA_ARGS__ b, kCount, MPI_INT, &s));            \
     counted(s);                                                  \
   },                                                             \
   [](MPI_File f, [[maybe_unused]] MPI_Offset at, int* b) {       \
     MPI_Status s;                                                \
     OK(READ(f, __VA_ARGS__ b, kCount, MPI_INT, &s));             \
     counted(s);                                                  \
   }}
#define NONBLOCKING(WRITE, READ, PLACE, ...)                      \
  {#WRITE, Way::Place::PLACE,                                     \
   [](MPI_File f, [[maybe_unused]] MPI_Offset at, const int* b) { \
     MPI_Request r;                                               \
     OK(WRITE(f, __VA_ARGS__ b, kCount, MPI_INT, &r));            \
     waited(&r);                                                  \
   },                                                             \
   [](MPI_File f, [[maybe_unused]] MPI_Offset at, int* b) {       \
     MPI_Request r;                                               \
     OK(READ(f, __VA_ARGS__ b, kCount, MPI_INT, &r));             \
     waited(&r);                                                  \
   }}
#define SPLIT(WRITE, WRITE_END, READ, READ_END, PLACE, ...)       \
  {#WRITE, Way::Place::PLACE,                                     \
   [](MPI_File f, [[maybe_unused]] MPI_Offset at, const int* b) { \
     MPI_Status s;                                                \
     OK(WRITE(f, __VA_ARGS__ b, kCount, MPI_INT));                \
     OK(WRITE_END(f, b, &s));                                     \
     counted(s);                                                  \
   },                                                             \
   [](MPI_File f, [[maybe_unused]] MPI_Offset at, int* b) {       \
     MPI_Status s;                                                \
     OK(READ(f, __VA_ARGS__ b, kCount, MPI_INT));                 \
     OK(READ_END(f, b, &s));                                      \
     counted(s);                                                  \
   }}
#define BOTH_BLOCKING(NAME, PLACE, ...)                                    \
  BLOCKING(MPI_File_write##NAME, MPI_File_read##NAME, PLACE, __VA_ARGS__), \
      BLOCKING(MPI_File_write##NAME##_c, MPI_File_read##NAME##_c, PLACE, __VA_ARGS__)
#define BOTH_NONBLOCKING(NAME, PLACE, ...)                                      \
  NONBLOCKING(MPI_File_iwrite##NAME, MPI_File_iread##NAME, PLACE, __VA_ARGS__), \
      NONBLOCKING(MPI_File_iwrite##NAME##_c, MPI_File_iread##NAME##_c, PLACE, __VA_ARGS__)
#define BOTH_SPLIT(NAME, PLACE, ...)                                                                   \
  SPLIT(MPI_File_write##NAME##_begin, MPI_File_write##NAME##_end, MPI_File_read##NAME##_begin,         \
        MPI_File_read##NAME##_end, PLACE, __VA_ARGS__),                                                \
      SPLIT(MPI_File_write##NAME##_begin_c, MPI_File_write##NAME##_end, MPI_File_read##NAME##_begin_c, \
            MPI_File_read##NAME##_end, PLACE, __VA_ARGS__)
#define AT at,

const std::vector<Way> kWays = {
    BOTH_BLOCKING(_at, at, AT),        BOTH_BLOCKING(_at_all, at, AT), BOTH_NONBLOCKING(_at, at, AT),
    BOTH_NONBLOCKING(_at_all, at, AT), BOTH_SPLIT(_at_all, at, AT),    BOTH_BLOCKING(, individual),
    BOTH_BLOCKING(_all, individual),   BOTH_NONBLOCKING(, individual), BOTH_NONBLOCKING(_all, individual),
    BOTH_SPLIT(_all, individual),      BOTH_BLOCKING(_shared, shared), BOTH_NONBLOCKING(_shared, shared),
    BOTH_BLOCKING(_ordered, ordered),  BOTH_SPLIT(_ordered, ordered),
};

// Which rank wrote what at a place that whoever came first has taken.
int writer_of(const Block& got, int size, int round) {
  for (int r = 0; r < size; ++r)
    if (got[0] == value(r, round, 0)) return r;
  return -1;
}

void check_way(const Way& way, int round, int rank, int size, Scratch& scratch) {
  const std::string path = scratch.file("way" + std::to_string(round));
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  OK(MPI_File_set_view(file, 4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  const MPI_Offset mine = static_cast<MPI_Offset>(rank) * kCount;
  const auto rewind = [&] {
    OK(MPI_File_sync(file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_sync(file));
    if (way.place == Way::Place::individual) OK(MPI_File_seek(file, mine, MPI_SEEK_SET));
    if (way.place == Way::Place::shared || way.place == Way::Place::ordered)
      OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  };
  rewind();
  const Block written = block_of(rank, round);
  way.write(file, mine, written.data());
  if (way.place == Way::Place::individual) {
    MPI_Offset now = -1;
    OK(MPI_File_get_position(file, &now));
    CHECK_EQ_IN(now, mine + kCount, "%s", way.name);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (way.place == Way::Place::shared || way.place == Way::Place::ordered) {
    MPI_Offset now = -1;
    OK(MPI_File_get_position_shared(file, &now));
    CHECK_EQ_IN(now, static_cast<MPI_Offset>(size) * kCount, "%s", way.name);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  rewind();
  Block got(kCount, -1);
  way.read(file, mine, got.data());
  if (way.place == Way::Place::shared) {
    const int writer = writer_of(got, size, round);
    CHECK(writer >= 0);
    check_block(got, writer, round, way.name);
    std::vector<int> times(size, 0);
    times[writer] = 1;
    OK(MPI_Allreduce(MPI_IN_PLACE, times.data(), size, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int r = 0; r < size; ++r) CHECK_EQ_IN(times[r], 1, "%s, rank %d", way.name, r);
  } else {
    check_block(got, rank, round, way.name);
  }
  MPI_Offset bytes = -1;
  OK(MPI_File_get_size(file, &bytes));
  CHECK_EQ_IN(bytes, 4 + 4 * static_cast<MPI_Offset>(size) * kCount, "%s", way.name);
  OK(MPI_File_close(&file));
  CHECK(file == MPI_FILE_NULL);
  if (way.place == Way::Place::shared) return;
  std::vector<unsigned char> wanted(4, 0);
  for (int r = 0; r < size; ++r) {
    const Block block = block_of(r, round);
    const auto* bytes_of = reinterpret_cast<const unsigned char*>(block.data());
    wanted.insert(wanted.end(), bytes_of, bytes_of + 4 * kCount);
  }
  check_contents(path, wanted, way.name);
}

}  // namespace

int main(int argc, char** argv) {
  check::Program program(&argc, &argv);
  Scratch scratch;
  for (size_t w = 0; w < kWays.size(); ++w)
    check_way(kWays[w], static_cast<int>(w), program.rank(), program.size(), scratch);
}
