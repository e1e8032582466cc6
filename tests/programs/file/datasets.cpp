// SPDX-License-Identifier: BSD-3-Clause
// The access patterns of libraries like parallel HDF5 and NetCDF: a header that one rank writes and all read, records of
// metadata that all write together, an array in one piece and one in chunks at scattered addresses, both written by
// selections of blocks and read by others, from memory where the selected elements have gaps and another order than
// in the file; and an array that grows.
#include <utility>

#include "file/scratch.hpp"

namespace {

constexpr int kRows = 37, kColumns = 53, kChunkRows = 6, kChunkColumns = 8;
constexpr int kDown = (kRows + kChunkRows - 1) / kChunkRows, kAcross = (kColumns + kChunkColumns - 1) / kChunkColumns;
constexpr MPI_Offset kArray = 4096, kChunks = kArray + kRows * kColumns * 4 + 100, kRecords = 512;
constexpr int kChunkBytes = kChunkRows * kChunkColumns * 4;

int value(int version, int y, int x) {
  return static_cast<int>(check::mix(version, y, x));
}
// Who writes an element, and who reads it.
int writer(int y, int x, int size) {
  return (y / 2 + x / 3) % size;
}
int reader(int y, int x, int size) {
  return (x / 5 + 3 * (y / 4)) % size;
}

MPI_Offset in_array(int y, int x) {
  return kArray + (static_cast<MPI_Offset>(y) * kColumns + x) * 4;
}
// Chunks lie in no order, with gaps between them.
MPI_Offset in_chunks(int y, int x) {
  const int chunk = (y / kChunkRows) * kAcross + x / kChunkColumns;
  const int place = chunk * 5 % (kDown * kAcross);  // 49 chunks, and 5 has no factor of it
  return kChunks + static_cast<MPI_Offset>(place) * (kChunkBytes + 24) +
         ((y % kChunkRows) * kChunkColumns + x % kChunkColumns) * 4;
}

// The elements of a rank as two types: where they lie in the file, ascending, and in memory, in that order.
struct Selection {
  MPI_Datatype file = MPI_DATATYPE_NULL, memory = MPI_DATATYPE_NULL;
  int elements = 0;

  template <class Place, class Owner>
  Selection(Place&& place, Owner&& owner, int rank, int size) {
    std::vector<std::pair<MPI_Offset, int>> all;
    for (int y = 0; y < kRows; ++y)
      for (int x = 0; x < kColumns; ++x)
        if (owner(y, x, size) == rank) all.emplace_back(place(y, x), y * kColumns + x);
    std::sort(all.begin(), all.end());
    elements = static_cast<int>(all.size());
    std::vector<int> lengths(all.size(), 1);
    std::vector<MPI_Aint> there, here;
    for (const auto& [offset, element] : all) there.push_back(offset), here.push_back(element * 4);
    OK(MPI_Type_create_hindexed(elements, lengths.data(), there.data(), MPI_INT, &file));
    OK(MPI_Type_create_hindexed(elements, lengths.data(), here.data(), MPI_INT, &memory));
    OK(MPI_Type_commit(&file));
    OK(MPI_Type_commit(&memory));
  }
  ~Selection() {
    MPI_Type_free(&file);
    MPI_Type_free(&memory);
  }
  Selection(const Selection&) = delete;
};

std::vector<int> array_of(int version) {
  std::vector<int> data(kRows * kColumns);
  for (int y = 0; y < kRows; ++y)
    for (int x = 0; x < kColumns; ++x) data[y * kColumns + x] = value(version, y, x);
  return data;
}

template <class Place>
void write_and_read(MPI_File file, Place&& place, int rank, int size, int version, bool started) {
  const Selection mine(place, writer, rank, size), wanted(place, reader, rank, size);
  const std::vector<int> data = array_of(version);
  MPI_Status status;
  OK(MPI_File_set_view(file, 0, MPI_INT, mine.file, "native", MPI_INFO_NULL));
  if (started) {
    MPI_Request request;
    OK(MPI_File_iwrite_at_all(file, 0, data.data(), 1, mine.memory, &request));
    OK(MPI_Wait(&request, &status));
  } else {
    OK(MPI_File_write_at_all(file, 0, data.data(), 1, mine.memory, &status));
  }
  check_count(status, MPI_INT, mine.elements);
  OK(MPI_File_sync(file));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_File_sync(file));
  std::vector<int> got(kRows * kColumns, -1);
  OK(MPI_File_set_view(file, 0, MPI_INT, wanted.file, "native", MPI_INFO_NULL));
  if (started) {
    MPI_Request request;
    OK(MPI_File_iread_all(file, got.data(), 1, wanted.memory, &request));
    OK(MPI_Wait(&request, &status));
  } else {
    OK(MPI_File_read_all(file, got.data(), 1, wanted.memory, &status));
  }
  check_count(status, MPI_INT, wanted.elements);
  for (int y = 0; y < kRows; ++y)
    for (int x = 0; x < kColumns; ++x)
      CHECK_EQ_IN(got[y * kColumns + x], reader(y, x, size) == rank ? value(version, y, x) : -1, "row %d, column %d", y,
                  x);
}

// Rank 0 writes it by itself, all read the same bytes together.
void check_header(MPI_File file, int rank) {
  char header[kRecords];
  for (int i = 0; i < kRecords; ++i) header[i] = static_cast<char>(i * 7);
  OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  if (rank == 0) OK(MPI_File_write_at(file, 0, header, kRecords, MPI_BYTE, MPI_STATUS_IGNORE));
  OK(MPI_File_sync(file));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_File_sync(file));
  char got[kRecords] = {};
  MPI_Status status;
  OK(MPI_File_read_at_all(file, 0, got, kRecords, MPI_BYTE, &status));
  check_count(status, MPI_BYTE, kRecords);
  CHECK(std::memcmp(got, header, kRecords) == 0);
}

// Records of different lengths, in turns; some ranks have none.
void check_records(MPI_File file, int rank, int size) {
  std::vector<int> lengths;
  std::vector<MPI_Aint> places;
  std::vector<char> bytes;
  MPI_Aint at = kRecords;
  for (int i = 0; i < 60; ++i) {
    const int length = 3 + i % 11;
    if (i * i % size == rank) {
      lengths.push_back(length), places.push_back(at);
      for (int b = 0; b < length; ++b) bytes.push_back(static_cast<char>(i + b));
    }
    at += length + i % 2;
  }
  MPI_Datatype records;
  OK(MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), MPI_BYTE, &records));
  OK(MPI_Type_commit(&records));
  OK(MPI_File_set_view(file, 0, MPI_BYTE, lengths.empty() ? MPI_BYTE : records, "native", MPI_INFO_NULL));
  OK(MPI_File_write_at_all(file, 0, bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, MPI_STATUS_IGNORE));
  OK(MPI_Type_free(&records));
  OK(MPI_File_sync(file));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_File_sync(file));
  OK(MPI_File_set_view(file, kRecords, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  std::vector<char> all(static_cast<size_t>(at - kRecords), 'x');
  OK(MPI_File_read_at_all(file, 0, all.data(), static_cast<int>(all.size()), MPI_BYTE, MPI_STATUS_IGNORE));
  size_t place = 0;
  for (int i = 0; i < 60; ++i) {
    const int length = 3 + i % 11;
    for (int b = 0; b < length; ++b) CHECK_EQ_IN(all[place + b], static_cast<char>(i + b), "record %d, byte %d", i, b);
    place += length + i % 2;
  }
}

// One row more at each turn, a block of it for each rank, as simulations add time steps.
void check_growing(Scratch& scratch, int rank, int size) {
  constexpr int kSteps = 9, kBlock = 5;
  MPI_File file = opened(scratch.file("growing"), MPI_MODE_CREATE | MPI_MODE_RDWR);
  OK(MPI_File_preallocate(file, 100));
  OK(MPI_File_set_size(file, 0));
  const int sizes[] = {1, size * kBlock}, subsizes[] = {1, kBlock}, starts[] = {0, rank * kBlock};
  MPI_Datatype block;
  OK(MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &block));
  OK(MPI_Type_commit(&block));
  OK(MPI_File_set_view(file, 0, MPI_DOUBLE, block, "native", MPI_INFO_NULL));
  OK(MPI_Type_free(&block));
  for (int step = 0; step < kSteps; ++step) {
    double data[kBlock];
    for (int i = 0; i < kBlock; ++i) data[i] = 1000 * step + rank * kBlock + i;
    OK(MPI_File_write_all(file, data, kBlock, MPI_DOUBLE, MPI_STATUS_IGNORE));
    MPI_Offset length = -1;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_get_size(file, &length));
    CHECK_EQ(length, MPI_Offset{8} * (step + 1) * size * kBlock);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  OK(MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL));
  std::vector<double> all(static_cast<size_t>(kSteps * size * kBlock));
  OK(MPI_File_read_all(file, all.data(), static_cast<int>(all.size()), MPI_DOUBLE, MPI_STATUS_IGNORE));
  for (int step = 0; step < kSteps; ++step)
    for (int i = 0; i < size * kBlock; ++i) CHECK_EQ(all[step * size * kBlock + i], 1000 * step + i);
  OK(MPI_File_close(&file));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program program(&argc, &argv);
  const int rank = program.rank(), size = program.size();
  Scratch scratch;
  for (const char* how : {"automatic", "enable", "disable"}) {
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "romio_cb_write", how));
    OK(MPI_Info_set(info, "romio_cb_read", how));
    MPI_File file =
        opened(scratch.file(std::string("datasets-") + how), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_COMM_WORLD, info);
    OK(MPI_Info_free(&info));
    check_header(file, rank);
    check_records(file, rank, size);
    write_and_read(file, in_array, rank, size, 1, false);
    write_and_read(file, in_chunks, rank, size, 2, false);
    write_and_read(file, in_array, rank, size, 3, true);
    write_and_read(file, in_chunks, rank, size, 4, true);
    check_header(file, rank);
    OK(MPI_File_close(&file));
  }
  check_growing(scratch, rank, size);
}
