// SPDX-License-Identifier: BSD-3-Clause
// Views (MPI 5.0, section 14.3) of many shapes, memory with gaps, independent and collective, with and without two
// phases: the file is what a model of it is, byte by byte, and so is what is read, also across its end.
// NOT_MPICH: 4.2 writes what its buffer held into holes behind the old end of the file, and counts what a read has asked
// for, as if the file did not end there.
#include "file/scratch.hpp"

namespace {

// Where the bytes of a view lie, as the type map says it.
struct Shape {
  const char* name;
  MPI_Datatype etype, filetype;
  std::vector<MPI_Offset> bytes;  // of one tile
  MPI_Offset extent;
};

MPI_Offset place(const Shape& shape, MPI_Offset displacement, MPI_Offset position) {
  const auto size = static_cast<MPI_Offset>(shape.bytes.size());
  return displacement + position / size * shape.extent + shape.bytes[position % size];
}

MPI_Datatype committed(MPI_Datatype type) {
  OK(MPI_Type_commit(&type));
  return type;
}

// Every rank's part of a row of blocks: rank r has block r of each.
Shape strided(int rank, int size, int ints) {
  MPI_Datatype block, moved, tile;
  OK(MPI_Type_contiguous(ints, MPI_INT, &block));
  const int length = 1;
  const MPI_Aint at = static_cast<MPI_Aint>(rank) * ints * 4;
  OK(MPI_Type_create_hindexed(1, &length, &at, block, &moved));
  OK(MPI_Type_create_resized(moved, 0, static_cast<MPI_Aint>(size) * ints * 4, &tile));
  OK(MPI_Type_free(&block));
  OK(MPI_Type_free(&moved));
  Shape shape{"strided", MPI_INT, committed(tile), {}, static_cast<MPI_Offset>(size) * ints * 4};
  for (int i = 0; i < ints * 4; ++i) shape.bytes.push_back(at + i);
  return shape;
}

// Columns of a matrix with 6 rows, three to a rank.
Shape columns(int rank, int size) {
  const int sizes[] = {6, 3 * size}, mine[] = {6, 3}, starts[] = {0, 3 * rank};
  MPI_Datatype tile;
  OK(MPI_Type_create_subarray(2, sizes, mine, starts, MPI_ORDER_C, MPI_SHORT, &tile));
  Shape shape{"columns", MPI_SHORT, committed(tile), {}, 6 * 3 * size * 2};
  for (int row = 0; row < 6; ++row)
    for (int i = 0; i < 6; ++i) shape.bytes.push_back((row * 3 * size + 3 * rank) * 2 + i);
  return shape;
}

// Cyclic over all ranks, in blocks of two doubles.
Shape cyclic(int rank, int size) {
  const int sizes[] = {6 * size}, distribution[] = {MPI_DISTRIBUTE_CYCLIC}, argument[] = {2}, processes[] = {size};
  MPI_Datatype tile;
  OK(MPI_Type_create_darray(size, rank, 1, sizes, distribution, argument, processes, MPI_ORDER_C, MPI_DOUBLE, &tile));
  Shape shape{"cyclic", MPI_DOUBLE, committed(tile), {}, 6 * size * 8};
  for (int block = 0; block < 3; ++block)
    for (int i = 0; i < 16; ++i) shape.bytes.push_back((block * size + rank) * 16 + i);
  return shape;
}

// A struct within a vector, with holes of all sizes.
Shape nested(int rank, int size) {
  const int lengths[] = {3, 1};
  const MPI_Aint at[] = {1, 9};
  const MPI_Datatype types[] = {MPI_CHAR, MPI_SHORT};
  MPI_Datatype record, padded, several, moved, tile;
  OK(MPI_Type_create_struct(2, lengths, at, types, &record));
  OK(MPI_Type_create_resized(record, 0, 13, &padded));
  OK(MPI_Type_vector(2, 1, 2, padded, &several));
  const int one = 1;
  const MPI_Aint mine = static_cast<MPI_Aint>(rank) * 40;
  OK(MPI_Type_create_hindexed(1, &one, &mine, several, &moved));
  OK(MPI_Type_create_resized(moved, 0, static_cast<MPI_Aint>(size) * 40, &tile));
  for (MPI_Datatype* type : {&record, &padded, &several, &moved}) OK(MPI_Type_free(type));
  Shape shape{"nested", MPI_BYTE, committed(tile), {}, static_cast<MPI_Offset>(size) * 40};
  for (int r = 0; r < 2; ++r)
    for (int b : {1, 2, 3, 9, 10}) shape.bytes.push_back(mine + r * 26 + b);
  return shape;
}

unsigned char byte_of(int rank, MPI_Offset position) {
  return static_cast<unsigned char>(1 + check::mix(rank, static_cast<unsigned>(position)) % 255);
}

struct Setting {
  const char* name;
  bool collective;
  const char* buffering;  // romio_cb_write and _read; nullptr: as it comes
  const char* buffer_size;
};

// Memory: one byte of two, or dense.
MPI_Datatype memory_type(bool gaps) {
  MPI_Datatype type = MPI_BYTE;
  if (!gaps) return type;
  OK(MPI_Type_create_resized(MPI_BYTE, 0, 2, &type));
  return committed(type);
}

void check_shape(const Shape& shape, const Setting& setting, bool gaps, int rank, int size, Scratch& scratch) {
  char name[128];
  std::snprintf(name, sizeof name, "%s.%s.%d", shape.name, setting.name, gaps);
  const std::string path = scratch.file(name);
  MPI_Info info = MPI_INFO_NULL;
  if (setting.buffering) {
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "romio_cb_write", setting.buffering));
    OK(MPI_Info_set(info, "romio_cb_read", setting.buffering));
    OK(MPI_Info_set(info, "cb_buffer_size", setting.buffer_size));
    OK(MPI_Info_set(info, "cb_nodes", "2"));
  }
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_COMM_WORLD, info);
  const MPI_Offset displacement = 5;
  OK(MPI_File_set_view(file, displacement, shape.etype, shape.filetype, "native", info));
  int unit = 0;
  OK(MPI_Type_size(shape.etype, &unit));

  const auto tile = static_cast<MPI_Offset>(shape.bytes.size());
  const MPI_Offset first = unit, bytes = 40 * tile + unit * (1 + rank % 3) - first;  // from within a tile into another
  const int stride = gaps ? 2 : 1;
  std::vector<unsigned char> out(bytes * stride, 0xee);
  for (MPI_Offset i = 0; i < bytes; ++i) out[i * stride] = byte_of(rank, first + i);
  MPI_Datatype memory = memory_type(gaps);
  MPI_Status status;
  const auto write = setting.collective ? MPI_File_write_at_all : MPI_File_write_at;
  OK(write(file, first / unit, out.data(), static_cast<int>(bytes), memory, &status));
  check_count(status, memory, static_cast<int>(bytes));
  OK(MPI_File_sync(file));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_File_sync(file));

  // Read with as much again behind it: only this rank's view of what is there comes.
  const MPI_Offset asked = 2 * bytes / unit * unit;
  std::vector<unsigned char> in(asked * stride, 0xee);
  const auto read = setting.collective ? MPI_File_read_at_all : MPI_File_read_at;
  OK(read(file, first / unit, in.data(), static_cast<int>(asked), memory, &status));
  MPI_Offset length = -1;
  OK(MPI_File_get_size(file, &length));
  MPI_Offset there = 0;
  while (there < asked && place(shape, displacement, first + there) < length) ++there;
  CHECK(there >= bytes);
  check_count(status, memory, static_cast<int>(there));
  for (MPI_Offset i = 0; i < asked; ++i) {
    const unsigned char wanted = i < bytes ? byte_of(rank, first + i) : i < there ? 0 : 0xee;
    CHECK_EQ_IN(in[i * stride], wanted, "%s, byte %lld of %lld", name, static_cast<long long>(i),
                static_cast<long long>(there));
    if (gaps) CHECK_EQ_IN(in[i * stride + 1], 0xee, "%s, the gap behind byte %lld", name, static_cast<long long>(i));
  }

  // Everybody's bytes are where their views say.
  MPI_Offset last = 0;
  const MPI_Offset end = place(shape, displacement, first + bytes - 1) + 1;
  OK(MPI_Allreduce(&end, &last, 1, MPI_OFFSET, MPI_MAX, MPI_COMM_WORLD));
  CHECK_EQ_IN(length, last, "%s", name);
  std::vector<unsigned char> model(last, 0);
  for (MPI_Offset i = 0; i < bytes; ++i) model[place(shape, displacement, first + i)] = byte_of(rank, first + i);
  OK(MPI_Allreduce(MPI_IN_PLACE, model.data(), static_cast<int>(last), MPI_UNSIGNED_CHAR, MPI_BOR, MPI_COMM_WORLD));
  OK(MPI_File_close(&file));
  check_contents(path, model, name);
  if (gaps) OK(MPI_Type_free(&memory));
  if (info != MPI_INFO_NULL) OK(MPI_Info_free(&info));
  static_cast<void>(size);
}

// Small pieces, one of each rank beside those of the others, in places that are far from each other.
void check_scattered(int rank, int size, Scratch& scratch) {
  constexpr int kPieces = 40;
  constexpr MPI_Aint kApart = MPI_Aint{256} << 20;
  MPI_Datatype tile;
  OK(MPI_Type_create_hvector(kPieces, 1, kApart, MPI_INT, &tile));
  OK(MPI_Type_commit(&tile));
  MPI_File file = opened(scratch.file("scattered"), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  OK(MPI_File_set_view(file, 4 * rank, MPI_INT, tile, "native", MPI_INFO_NULL));
  int out[kPieces], in[kPieces] = {};
  for (int i = 0; i < kPieces; ++i) out[i] = static_cast<int>(check::mix(rank, i));
  MPI_Status status;
  OK(MPI_File_write_at_all(file, 0, out, kPieces, MPI_INT, &status));
  check_count(status, MPI_INT, kPieces);
  OK(MPI_File_read_at_all(file, 0, in, kPieces, MPI_INT, &status));
  check_count(status, MPI_INT, kPieces);
  for (int i = 0; i < kPieces; ++i) CHECK_EQ_IN(in[i], out[i], "piece %d", i);
  MPI_Offset length = 0;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_File_get_size(file, &length));
  CHECK_EQ(length, (kPieces - 1) * kApart + 4 * size);
  OK(MPI_File_close(&file));
  OK(MPI_Type_free(&tile));
}

// Pieces of a filetype may share bytes where the file is only read: 0 to 6, 3 to 9 twice, and 12.
void check_repeated(const Setting& setting, int rank, Scratch& scratch) {
  const int lengths[] = {7, 7, 7, 1}, starts[] = {0, 3, 3, 12};
  MPI_Datatype tile;
  OK(MPI_Type_indexed(4, lengths, starts, MPI_BYTE, &tile));
  Shape shape{"repeated", MPI_BYTE, committed(tile), {}, 13};
  for (int piece = 0; piece < 4; ++piece)
    for (int i = 0; i < lengths[piece]; ++i) shape.bytes.push_back(starts[piece] + i);
  const std::string path = scratch.file(std::string("repeated.") + setting.name);
  constexpr int kBytes = 20000, kRead = 22 * 1000 + 9;
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_WRONLY);
  std::vector<unsigned char> all(kBytes), in(kRead, 0xee);
  for (int i = 0; i < kBytes; ++i) all[i] = byte_of(0, i);
  if (rank == 0) OK(MPI_File_write_at(file, 0, all.data(), kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  OK(MPI_File_close(&file));
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "romio_cb_read", setting.buffering ? setting.buffering : "automatic"));
  OK(MPI_Info_set(info, "cb_buffer_size", "4096"));
  file = opened(path, MPI_MODE_RDONLY, MPI_COMM_WORLD, info);
  OK(MPI_File_set_view(file, rank, MPI_BYTE, shape.filetype, "native", MPI_INFO_NULL));
  MPI_Status status;
  const auto read = setting.collective ? MPI_File_read_at_all : MPI_File_read_at;
  OK(read(file, 5, in.data(), kRead, MPI_BYTE, &status));
  check_count(status, MPI_BYTE, kRead);
  for (int i = 0; i < kRead; ++i) CHECK_EQ_IN(in[i], all[place(shape, rank, 5 + i)], "%s, byte %d", setting.name, i);
  OK(MPI_File_close(&file));
  OK(MPI_Info_free(&info));
  OK(MPI_Type_free(&shape.filetype));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program program(&argc, &argv);
  const int rank = program.rank(), size = program.size();
  Scratch scratch;
  std::vector<Shape> shapes = {strided(rank, size, 1), strided(rank, size, 1000), columns(rank, size),
                               cyclic(rank, size), nested(rank, size)};
  shapes[1].name = "wide";
  const Setting settings[] = {{"alone", false, nullptr, nullptr},
                              {"together", true, nullptr, nullptr},
                              {"two_phases", true, "enable", "4096"},
                              {"no_phases", true, "disable", "65536"}};
  for (const Shape& shape : shapes)
    for (const Setting& setting : settings)
      for (const bool gaps : {false, true}) check_shape(shape, setting, gaps, rank, size, scratch);
  check_scattered(rank, size, scratch);
  for (const Setting& setting : settings) check_repeated(setting, rank, scratch);
  for (Shape& shape : shapes) OK(MPI_Type_free(&shape.filetype));
}
