// SPDX-License-Identifier: BSD-3-Clause
// Opening, closing, sizes, pointers, hints and consistency of files (MPI 5.0, sections 14.2, 14.4.3, 14.4.4, 14.6).
#include <sys/stat.h>

#include "file/scratch.hpp"

namespace {

bool exists(const std::string& path) {
  struct stat about;
  return ::stat(path.c_str(), &about) == 0;
}

// Collective: nobody changes it before all have asked.
MPI_Offset size_of(MPI_File file) {
  MPI_Offset size = -1;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_File_get_size(file, &size));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  return size;
}

// A kind of file system before the path, as programs for ROMIO write it, is no part of the path.
void check_prefixes(Scratch& scratch, int rank) {
  const std::string path = scratch.file("prefixed");
  for (const char* kind : {"ufs:", "nfs:"}) {
    MPI_File file = opened(kind + path, MPI_MODE_CREATE | MPI_MODE_RDWR);
    CHECK(exists(path));
    OK(MPI_File_close(&file));
    if (rank == 0) OK(MPI_File_delete((kind + path).c_str(), MPI_INFO_NULL));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(!exists(path));
  }
  // Any other name is a path, also one with a colon.
  const std::string other = scratch.file("ufs:other");
  MPI_File file = opened(other, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  CHECK(exists(other));
  OK(MPI_File_close(&file));
}

void check_open(Scratch& scratch, int rank) {
  const std::string path = scratch.file("open");
  MPI_File file;
  FAILS(MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_NO_SUCH_FILE);
  CHECK(file == MPI_FILE_NULL);
  file = opened(path, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY);
  int amode = 0;
  OK(MPI_File_get_amode(file, &amode));
  CHECK_EQ(amode, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY);
  MPI_Group group, world;
  OK(MPI_File_get_group(file, &group));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  int result = -1;
  OK(MPI_Group_compare(group, world, &result));
  CHECK_EQ(result, MPI_IDENT);
  OK(MPI_Group_free(&group));
  OK(MPI_Group_free(&world));
  OK(MPI_File_close(&file));
  CHECK(file == MPI_FILE_NULL);
  FAILS(MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR, MPI_INFO_NULL,
                      &file),
        MPI_ERR_FILE_EXISTS);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) OK(MPI_File_delete(path.c_str(), MPI_INFO_NULL));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(!exists(path));
  FAILS(MPI_File_delete(path.c_str(), MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
  // A handle as a number, and each rank with a file of its own.
  const std::string own = path + std::to_string(rank);
  file = opened(own, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_UNIQUE_OPEN, MPI_COMM_SELF);
#if !defined(OTHER_MPI)
  CHECK(MPI_File_fromint(MPI_File_toint(file)) == file);
#endif
  CHECK(MPI_File_f2c(MPI_File_c2f(file)) == file);
  CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
  CHECK(exists(own));
  OK(MPI_File_close(&file));
  CHECK(!exists(own));
}

void check_sizes(Scratch& scratch) {
  const std::string path = scratch.file("sizes");
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  CHECK_EQ(size_of(file), 0);
  OK(MPI_File_set_size(file, 1000));
  CHECK_EQ(size_of(file), 1000);
  OK(MPI_File_preallocate(file, 5000));
  CHECK_EQ(size_of(file), 5000);
  OK(MPI_File_preallocate(file, 10));
  CHECK_EQ(size_of(file), 5000);
  OK(MPI_File_set_size(file, 24));
  CHECK_EQ(size_of(file), 24);

  OK(MPI_File_seek(file, 10, MPI_SEEK_SET));
  OK(MPI_File_seek(file, -4, MPI_SEEK_CUR));
  MPI_Offset at = -1;
  OK(MPI_File_get_position(file, &at));
  CHECK_EQ(at, 6);
  OK(MPI_File_seek(file, -2, MPI_SEEK_END));
  OK(MPI_File_get_position(file, &at));
  CHECK_EQ(at, 22);
  OK(MPI_File_seek_shared(file, 3, MPI_SEEK_END));
  OK(MPI_File_get_position_shared(file, &at));
  CHECK_EQ(at, 27);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_File_seek_shared(file, -7, MPI_SEEK_CUR));
  OK(MPI_File_get_position_shared(file, &at));
  CHECK_EQ(at, 20);

  // Two integers of each four; the file ends within a tile.
  MPI_Datatype pair, tile;
  OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  OK(MPI_Type_create_resized(pair, 0, 16, &tile));
  OK(MPI_Type_commit(&tile));
  OK(MPI_File_set_view(file, 3, MPI_INT, tile, "native", MPI_INFO_NULL));
  OK(MPI_File_get_position(file, &at));
  CHECK_EQ(at, 0);
  OK(MPI_File_get_position_shared(file, &at));
  CHECK_EQ(at, 0);
  MPI_Offset byte = -1;
  OK(MPI_File_get_byte_offset(file, 5, &byte));
  CHECK_EQ(byte, 3 + 2 * 16 + 4);
#if !defined(OTHER_MPI)
  FAILS(MPI_File_get_byte_offset(file, INT64_MAX / 4 - 1, &byte), MPI_ERR_ARG);
#endif
  OK(MPI_File_seek(file, 0, MPI_SEEK_END));  // 24: behind 3..10 and 19..22, in the second integer of the tile
  OK(MPI_File_get_position(file, &at));
  CHECK_EQ(at, 4);
  MPI_Offset disp = -1;
  MPI_Datatype etype, filetype;
  char datarep[MPI_MAX_DATAREP_STRING];
  OK(MPI_File_get_view(file, &disp, &etype, &filetype, datarep));
  CHECK_EQ(disp, 3);
  CHECK(etype == MPI_INT);
  CHECK_EQ(std::string(datarep), "native");
  MPI_Aint lower, extent;
  OK(MPI_Type_get_extent(filetype, &lower, &extent));
  CHECK_EQ(extent, 16);
  OK(MPI_Type_free(&filetype));  // a handle of its own
  OK(MPI_File_get_type_extent(file, MPI_DOUBLE, &extent));
  CHECK_EQ(extent, 8);
  OK(MPI_Type_free(&pair));
  OK(MPI_Type_free(&tile));
  OK(MPI_File_close(&file));
}

void check_append(Scratch& scratch, int rank, int size) {
  const std::string path = scratch.file("append");
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_WRONLY);
  const char first[] = "first";
  if (rank == 0) OK(MPI_File_write_at(file, 0, first, 5, MPI_CHAR, MPI_STATUS_IGNORE));
  OK(MPI_File_close(&file));
  file = opened(path, MPI_MODE_WRONLY | MPI_MODE_APPEND);
  MPI_Offset at = -1;
  OK(MPI_File_get_position(file, &at));
  CHECK_EQ(at, 5);
  const char mine = static_cast<char>('a' + rank % 26);
  OK(MPI_File_write_ordered(file, &mine, 1, MPI_CHAR, MPI_STATUS_IGNORE));
  OK(MPI_File_close(&file));
  std::vector<unsigned char> wanted(first, first + 5);
  for (int r = 0; r < size; ++r) wanted.push_back(static_cast<unsigned char>('a' + r % 26));
  check_contents(path, wanted, "append");
}

void check_sequential(Scratch& scratch, int rank, int size) {
  const std::string path = scratch.file("sequential");
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
  const char header[] = "head";
  OK(MPI_File_write_ordered(file, header, rank == 0 ? 4 : 0, MPI_CHAR, MPI_STATUS_IGNORE));
  OK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  MPI_Offset disp = -1;
  MPI_Datatype etype, filetype;
  char datarep[MPI_MAX_DATAREP_STRING];
  OK(MPI_File_get_view(file, &disp, &etype, &filetype, datarep));
  CHECK_EQ(disp, 4);
  OK(MPI_File_write_ordered(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  const int number = 7;
#if !defined(OTHER_MPI)
  FAILS(MPI_File_write(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION);
  FAILS(MPI_File_write_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION);
  FAILS(MPI_File_seek(file, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
  FAILS(MPI_File_set_size(file, 100), MPI_ERR_UNSUPPORTED_OPERATION);
  FAILS(MPI_File_preallocate(file, 100), MPI_ERR_UNSUPPORTED_OPERATION);
  MPI_Offset shared = -1;
  FAILS(MPI_File_get_position_shared(file, &shared), MPI_ERR_UNSUPPORTED_OPERATION);
#endif
  OK(MPI_File_close(&file));
  std::vector<unsigned char> wanted(header, header + 4);
  for (int r = 0; r < size; ++r) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(&r);
    wanted.insert(wanted.end(), bytes, bytes + 4);
  }
  static_cast<void>(number);
  check_contents(path, wanted, "sequential");
}

void check_hints(Scratch& scratch) {
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "cb_buffer_size", "1048576"));
  OK(MPI_Info_set(info, "cb_nodes", "1"));
  OK(MPI_Info_set(info, "access_style", "read_once,sequential"));
  OK(MPI_Info_set(info, "no_such_hint", "whatever"));
  OK(MPI_Info_set(info, "striping_unit", "0"));  // no wish, and nothing to be said
  MPI_File file = opened(scratch.file("hints"), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_COMM_WORLD, info);
  MPI_Info used;
  OK(MPI_File_get_info(file, &used));
  char value[MPI_MAX_INFO_VAL + 1];
  int flag = 0;
  OK(MPI_Info_get(used, "cb_buffer_size", MPI_MAX_INFO_VAL, value, &flag));
  CHECK(flag);
  CHECK_EQ(std::string(value), "1048576");
  OK(MPI_Info_get(used, "no_such_hint", MPI_MAX_INFO_VAL, value, &flag));
  CHECK(!flag);
  OK(MPI_Info_free(&used));
  OK(MPI_Info_set(info, "cb_buffer_size", "65536"));
  OK(MPI_File_set_info(file, info));
  OK(MPI_Info_free(&info));
  OK(MPI_File_close(&file));
}

// Visible to others by sync, barrier, sync; and without either in atomic mode.
void check_consistency(Scratch& scratch, int rank, int size) {
  MPI_File file = opened(scratch.file("consistency"), MPI_MODE_CREATE | MPI_MODE_RDWR);
  int flag = -1;
  OK(MPI_File_get_atomicity(file, &flag));
  CHECK_EQ(flag, 0);
  std::vector<int> mine(500), got(500);
  for (int round = 0; round < 20; ++round) {
    if (round == 10) OK(MPI_File_set_atomicity(file, 1));
    for (int i = 0; i < 500; ++i) mine[i] = static_cast<int>(check::mix(rank, round, i));
    OK(MPI_File_write_at(file, 2000 * rank, mine.data(), 500, MPI_INT, MPI_STATUS_IGNORE));
    if (round < 10) OK(MPI_File_sync(file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (round < 10) OK(MPI_File_sync(file));
    const int other = (rank + 1) % size;
    OK(MPI_File_read_at(file, 2000 * other, got.data(), 500, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i < 500; ++i) CHECK_EQ(got[i], static_cast<int>(check::mix(other, round, i)));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  OK(MPI_File_get_atomicity(file, &flag));
  CHECK_EQ(flag, 1);
  OK(MPI_File_close(&file));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program program(&argc, &argv);
  const int rank = program.rank(), size = program.size();
  Scratch scratch;
  check_prefixes(scratch, rank);
  check_open(scratch, rank);
  check_sizes(scratch);
  check_append(scratch, rank, size);
  check_sequential(scratch, rank, size);
  check_hints(scratch);
  check_consistency(scratch, rank, size);
}
