// SPDX-License-Identifier: BSD-3-Clause
// Data representations (MPI 5.0, section 14.5): external32 is big-endian with sizes of its own, a program's own one is
// what its functions make of the data, and both go through views with gaps.
#include <climits>
#include <cstddef>

#include "file/scratch.hpp"

namespace {

void put_big(std::vector<unsigned char>& to, uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) to.push_back(static_cast<unsigned char>(value >> (8 * i)));
}

void check_external32(Scratch& scratch, int rank, int size) {
  const std::string path = scratch.file("external32");
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  // Every rank has 3 longs of each 3 * size: four bytes each, there.
  MPI_Datatype tile;
  const int sizes[] = {3 * size}, mine[] = {3}, starts[] = {3 * rank};
  OK(MPI_Type_create_subarray(1, sizes, mine, starts, MPI_ORDER_C, MPI_LONG, &tile));
  OK(MPI_Type_commit(&tile));
  OK(MPI_File_set_view(file, 0, MPI_LONG, tile, "external32", MPI_INFO_NULL));
  MPI_Aint extent = 0;
  OK(MPI_File_get_type_extent(file, MPI_LONG, &extent));
  CHECK_EQ(extent, 4);
  OK(MPI_File_get_type_extent(file, MPI_DOUBLE, &extent));
  CHECK_EQ(extent, 8);
  std::vector<long> out(9), in(12, -7);
  for (int i = 0; i < 9; ++i) out[i] = (i % 2 ? -1 : 1) * (100000L * rank + i);
  MPI_Status status;
  OK(MPI_File_write_all(file, out.data(), 9, MPI_LONG, &status));
  check_count(status, MPI_LONG, 9);
  OK(MPI_File_sync(file));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_File_sync(file));
  OK(MPI_File_read_at(file, 0, in.data(), 12, MPI_LONG, &status));  // its end is behind the ninth
  check_count(status, MPI_LONG, 9);
  for (int i = 0; i < 12; ++i) CHECK_EQ_IN(in[i], i < 9 ? out[i] : -7, "element %d", i);
  MPI_Request request;
  std::fill(in.begin(), in.end(), -7);
  OK(MPI_File_iread_at(file, 2, in.data(), 4, MPI_LONG, &request));
  OK(MPI_Wait(&request, &status));
  for (int i = 0; i < 4; ++i) CHECK_EQ(in[i], out[2 + i]);
  OK(MPI_File_close(&file));
  OK(MPI_Type_free(&tile));
  std::vector<unsigned char> wanted;
  for (int row = 0; row < 3; ++row)
    for (int r = 0; r < size; ++r)
      for (int i = 3 * row; i < 3 * row + 3; ++i)
        put_big(wanted, static_cast<uint64_t>((i % 2 ? -1 : 1) * (100000L * r + i)), 4);
  check_contents(path, wanted, "external32");

  // A struct in memory, dense in the file.
  struct Record {
    char c;
    double d;
    short s;
  };
  const int lengths[] = {1, 1, 1};
  const MPI_Aint at[] = {offsetof(Record, c), offsetof(Record, d), offsetof(Record, s)};
  const MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT};
  MPI_Datatype fields, record;
  OK(MPI_Type_create_struct(3, lengths, at, types, &fields));
  OK(MPI_Type_create_resized(fields, 0, sizeof(Record), &record));
  OK(MPI_Type_commit(&record));
  const std::string other = scratch.file("records");
  file = opened(other, MPI_MODE_CREATE | MPI_MODE_RDWR);
  OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL));
  std::vector<Record> records(4), back(4);
  for (int i = 0; i < 4; ++i) records[i] = {static_cast<char>('a' + i), rank + 0.25 * i, static_cast<short>(-300 - i)};
  OK(MPI_File_write_at_all(file, 44 * rank, records.data(), 4, record, &status));
  check_count(status, record, 4);
  OK(MPI_File_read_at_all(file, 44 * rank, back.data(), 4, record, &status));
  for (int i = 0; i < 4; ++i) {
    CHECK_EQ(back[i].c, records[i].c);
    CHECK_EQ(back[i].d, records[i].d);
    CHECK_EQ(back[i].s, records[i].s);
  }
  OK(MPI_File_close(&file));
  OK(MPI_Type_free(&fields));
  OK(MPI_Type_free(&record));
  wanted.clear();
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < 4; ++i) {
      wanted.push_back(static_cast<unsigned char>('a' + i));
      const double d = r + 0.25 * i;
      uint64_t bits;
      std::memcpy(&bits, &d, 8);
      put_big(wanted, bits, 8);
      put_big(wanted, static_cast<uint16_t>(-300 - i), 2);
    }
  check_contents(other, wanted, "records");
}

// Integers as their decimal digits, eight of them.
int digits_extent(MPI_Datatype type, MPI_Aint* extent, void* extra_state) {
  CHECK(extra_state == &check::world_rank);
  int size = 0;
  OK(MPI_Type_size(type, &size));
  *extent = size == 4 ? 8 : size;
  return MPI_SUCCESS;
}
int write_digits(void* memory, MPI_Datatype type, int count, void* file, MPI_Offset position, void*) {
  CHECK(type == MPI_INT);
  for (int i = 0; i < count; ++i) {
    char text[9];
    std::snprintf(text, sizeof text, "%08d", static_cast<int*>(memory)[position + i]);
    std::memcpy(static_cast<char*>(file) + 8 * i, text, 8);
  }
  return MPI_SUCCESS;
}
int read_digits(void* memory, MPI_Datatype type, int count, void* file, MPI_Offset position, void*) {
  int size = 0;
  OK(MPI_Type_size(type, &size));
  const int each = size / 4;  // MPI_INT, or contiguous ones
  for (int i = 0; i < count * each; ++i)
    static_cast<int*>(memory)[position * each + i] =
        std::atoi(std::string(static_cast<char*>(file) + 8 * i, 8).c_str());
  return MPI_SUCCESS;
}
int refuse(void*, MPI_Datatype, int, void*, MPI_Offset, void*) {
  return MPI_ERR_OTHER;
}

int64_t converted = 0;
int count_them(void*, MPI_Datatype, int count, void*, MPI_Offset position, void*) {
  CHECK(count > 0);
  CHECK_EQ(position, 0);
  converted += count;
  return converted > INT_MAX ? MPI_ERR_OTHER : MPI_SUCCESS;
}
int one_byte(MPI_Datatype, MPI_Aint* extent, void*) {
  *extent = 1;
  return MPI_SUCCESS;
}

// More elements than the conversion's int counts, and more bytes than there is memory for. Nothing is written.
void check_large(Scratch& scratch, int rank) {
  OK(MPI_Register_datarep("counting", count_them, count_them, one_byte, nullptr));
  const std::string path = scratch.file("large");
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype same;  // of which any number is one byte of memory
  OK(MPI_Type_create_resized(MPI_BYTE, 0, 0, &same));
  OK(MPI_Type_commit(&same));
  const char byte = 1;
  OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "counting", MPI_INFO_NULL));
  if (rank == 0) {
    const MPI_Count count = MPI_Count{INT_MAX} + 7;
    FAILS(MPI_File_write_at_c(file, 0, &byte, count, same, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION);
    CHECK_EQ(converted, count);
  }
  OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL));
  FAILS(MPI_File_write_at_all_c(file, 0, &byte, MPI_Count{1} << 60, same, MPI_STATUS_IGNORE), MPI_ERR_NO_MEM);
  MPI_Offset bytes = -1;
  OK(MPI_File_get_size(file, &bytes));
  CHECK_EQ(bytes, 0);
  OK(MPI_Type_free(&same));
  OK(MPI_File_close(&file));
}

void check_registered(Scratch& scratch, int rank, int size) {
  OK(MPI_Register_datarep("digits", read_digits, write_digits, digits_extent, &check::world_rank));
  FAILS(MPI_Register_datarep("digits", read_digits, write_digits, digits_extent, nullptr), MPI_ERR_DUP_DATAREP);
  FAILS(MPI_Register_datarep("native", read_digits, write_digits, digits_extent, nullptr), MPI_ERR_DUP_DATAREP);
  OK(MPI_Register_datarep("refusing", refuse, refuse, digits_extent, &check::world_rank));
  const std::string path = scratch.file("digits");
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype tile;
  const int sizes[] = {2 * size}, mine[] = {2}, starts[] = {2 * rank};
  OK(MPI_Type_create_subarray(1, sizes, mine, starts, MPI_ORDER_C, MPI_INT, &tile));
  OK(MPI_Type_commit(&tile));
  OK(MPI_File_set_view(file, 0, MPI_INT, tile, "digits", MPI_INFO_NULL));
  std::vector<int> out(6), in(6, -1);
  for (int i = 0; i < 6; ++i) out[i] = 100 * rank + i;
  OK(MPI_File_write_all(file, out.data(), 6, MPI_INT, MPI_STATUS_IGNORE));
  OK(MPI_File_seek(file, 0, MPI_SEEK_SET));
  MPI_Status status;
  OK(MPI_File_read_all(file, in.data(), 6, MPI_INT, &status));
  check_count(status, MPI_INT, 6);
  for (int i = 0; i < 6; ++i) CHECK_EQ(in[i], out[i]);
  OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "refusing", MPI_INFO_NULL));
  FAILS(MPI_File_write(file, out.data(), 6, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION);
  FAILS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "no such thing", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_DATAREP);
  OK(MPI_File_close(&file));
  OK(MPI_Type_free(&tile));
  std::string text;
  for (int row = 0; row < 3; ++row)
    for (int r = 0; r < size; ++r)
      for (int i = 2 * row; i < 2 * row + 2; ++i) {
        char digits[16];
        std::snprintf(digits, sizeof digits, "%08d", 100 * r + i);
        text += digits;
      }
  check_contents(path, {text.begin(), text.end()}, "digits");
}

// The file ends amid an element of the memory's datatype: its basic elements that are there are read.
void check_end(Scratch& scratch) {
  struct Parts {
    short a;
    long b;
    double c;
  };
  const int one[] = {1, 1, 1};
  const MPI_Aint places[] = {offsetof(Parts, a), offsetof(Parts, b), offsetof(Parts, c)};
  const MPI_Datatype of[] = {MPI_SHORT, MPI_LONG, MPI_DOUBLE};
  MPI_Datatype parts, bare;
  OK(MPI_Type_create_struct(3, one, places, of, &bare));
  OK(MPI_Type_create_resized(bare, 0, sizeof(Parts), &parts));
  OK(MPI_Type_commit(&parts));
  const std::string path = scratch.file("end" + std::to_string(check::world_rank));
  MPI_File file;
  OK(MPI_File_open(MPI_COMM_SELF, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &file));
  OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL));
  const Parts out[] = {{1, 10, 0.5}, {2, 20, 1.5}, {3, 30, 2.5}};
  OK(MPI_File_write(file, out, 3, parts, MPI_STATUS_IGNORE));
  OK(MPI_File_set_size(file, 3 * (2 + 4 + 8) - 5));  // the last number has lost its end
  for (int collective = 0; collective < 2; ++collective) {
    Parts in[] = {{-1, -1, -1}, {-1, -1, -1}, {-1, -1, -1}, {-1, -1, -1}};
    MPI_Status status;
    OK(collective ? MPI_File_read_at_all(file, 0, in, 4, parts, &status)
                  : MPI_File_read_at(file, 0, in, 4, parts, &status));
    int elements = 0;
    OK(MPI_Get_elements(&status, parts, &elements));
    CHECK_EQ(elements, 8);
    for (int i = 0; i < 3; ++i) CHECK(in[i].a == out[i].a && in[i].b == out[i].b);
    CHECK(in[0].c == 0.5 && in[1].c == 1.5 && in[2].c == -1 && in[3].a == -1);
  }
  OK(MPI_Type_free(&parts));
  OK(MPI_Type_free(&bare));

  MPI_Datatype seven;
  OK(MPI_Type_contiguous(7, MPI_INT, &seven));
  OK(MPI_Type_commit(&seven));
  OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "digits", MPI_INFO_NULL));
  const int numbers[] = {4, 8, 15, 16, 23, 42};
  OK(MPI_File_set_size(file, 0));
  OK(MPI_File_write_at(file, 0, numbers, 6, MPI_INT, MPI_STATUS_IGNORE));
  std::vector<int> in(14, -1);
  MPI_Status status;
  OK(MPI_File_read_at(file, 0, in.data(), 2, seven, &status));
  int elements = 0;
  OK(MPI_Get_elements(&status, seven, &elements));
  CHECK_EQ(elements, 6);
  for (int i = 0; i < 14; ++i) CHECK_EQ(in[i], i < 6 ? numbers[i] : -1);
  OK(MPI_File_close(&file));
  OK(MPI_Type_free(&seven));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program program(&argc, &argv);
  Scratch scratch;
  check_external32(scratch, program.rank(), program.size());
  check_registered(scratch, program.rank(), program.size());
  check_large(scratch, program.rank());
  check_end(scratch);
}
