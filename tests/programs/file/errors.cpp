// SPDX-License-Identifier: BSD-3-Clause
// Errors of files (MPI 5.0, sections 14.7 and 9.3): their classes, their sentences, on whose handler they are raised, and
// that the error of one rank in a collective call reaches all.
#include <sys/stat.h>

#include "file/scratch.hpp"

namespace {

int calls = 0;
MPI_File told = MPI_FILE_NULL;
void handler(MPI_File* file, int* code, ...) {
  ++calls;
  told = *file;
  CHECK(check::error_class(*code) != MPI_SUCCESS);
}

void forgive(MPI_File*, int* code, ...) {
  *code = MPI_SUCCESS;
}

bool says(int code, const char* words) {
  return check::error_text(code).find(words) != std::string::npos;
}

void check_handlers(Scratch& scratch) {
  MPI_Errhandler own, now;
  OK(MPI_File_get_errhandler(MPI_FILE_NULL, &now));
  CHECK(now == MPI_ERRORS_RETURN);
  OK(MPI_File_create_errhandler(handler, &own));
  OK(MPI_File_set_errhandler(MPI_FILE_NULL, own));
  MPI_File file;
  FAILS(MPI_File_open(MPI_COMM_WORLD, scratch.file("none").c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
        MPI_ERR_NO_SUCH_FILE);
  CHECK_EQ(calls, 1);
  CHECK(told == MPI_FILE_NULL);
  // Other ranks' sentences are whole, also of a long name.
  int code =
      MPI_File_open(MPI_COMM_WORLD, scratch.file(std::string(240, 'n')).c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  CHECK(says(code, "No such file"));
  CHECK_EQ(calls, 2);
  FAILS(MPI_File_close(&file), MPI_ERR_FILE);
  CHECK_EQ(calls, 3);
  // A file has the handler that MPI_FILE_NULL has when it is opened.
  file = opened(scratch.file("handled"), MPI_MODE_CREATE | MPI_MODE_RDWR);
  OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
  FAILS(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  CHECK_EQ(calls, 4);
  CHECK(told == file);
  OK(MPI_File_call_errhandler(file, MPI_ERR_IO));
  CHECK_EQ(calls, 5);
  OK(MPI_File_set_errhandler(file, MPI_ERRORS_RETURN));
  FAILS(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  CHECK_EQ(calls, 5);
  FAILS(MPI_Comm_set_errhandler(MPI_COMM_WORLD, own), MPI_ERR_ERRHANDLER);
  OK(MPI_Errhandler_free(&own));
  // The call returns what the handler leaves.
  OK(MPI_File_create_errhandler(forgive, &own));
  OK(MPI_File_set_errhandler(file, own));
  OK(MPI_File_seek(file, -1, MPI_SEEK_SET));
  OK(MPI_Errhandler_free(&own));
  OK(MPI_File_close(&file));
}

// What fails when the file is closed already is told by its own handler all the same: here that it cannot be deleted, for
// there is a folder of its name.
void check_close(Scratch& scratch, int rank) {
  MPI_Errhandler own;
  OK(MPI_File_create_errhandler(handler, &own));
  const std::string path = scratch.file("closed");
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  OK(MPI_File_set_errhandler(file, own));
  OK(MPI_Errhandler_free(&own));
  if (rank == 0) CHECK(::unlink(path.c_str()) == 0 && ::mkdir(path.c_str(), 0700) == 0);
  calls = 0;
  const int code = MPI_File_close(&file);
  CHECK(says(code, "deleting it"));
  CHECK_EQ(calls, 1);
  CHECK(file == MPI_FILE_NULL && told != MPI_FILE_NULL);
  if (rank == 0) CHECK(::rmdir(path.c_str()) == 0);
}

void check_modes(Scratch& scratch, int rank, int size) {
  const std::string path = scratch.file("modes");
  MPI_File file;
  for (const int amode : {0, MPI_MODE_RDONLY | MPI_MODE_RDWR, MPI_MODE_RDONLY | MPI_MODE_CREATE,
                          MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL, 1 << 20})
    FAILS(MPI_File_open(MPI_COMM_WORLD, path.c_str(), amode, MPI_INFO_NULL, &file), MPI_ERR_AMODE);
  if (size > 1) {
    FAILS(MPI_File_open(MPI_COMM_WORLD, path.c_str(), (rank ? MPI_MODE_WRONLY : MPI_MODE_RDWR) | MPI_MODE_CREATE,
                        MPI_INFO_NULL, &file),
          MPI_ERR_NOT_SAME);
    FAILS(MPI_File_open(MPI_COMM_WORLD, path.c_str(), rank == size - 1 ? 0 : MPI_MODE_RDWR | MPI_MODE_CREATE,
                        MPI_INFO_NULL, &file),
          MPI_ERR_AMODE);
  }
  file = opened(path, MPI_MODE_CREATE | MPI_MODE_WRONLY);
  int number = 1;
  FAILS(MPI_File_read_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
  FAILS(MPI_File_read_at_all(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
  FAILS(MPI_File_write_at(file, -1, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ARG);
  FAILS(MPI_File_write_at(file, INT64_MAX - 1, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ARG);
  FAILS(MPI_File_set_size(file, -5), MPI_ERR_ARG);
  FAILS(MPI_File_seek(file, 0, 77), MPI_ERR_ARG);
  // One rank is wrong: all hear of it, with its own words.
  const int code = MPI_File_write_at_all(file, rank == size - 1 ? -3 : 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE);
  CHECK_EQ(check::error_class(code), MPI_ERR_ARG);
  CHECK(says(code, "-3 is negative"));
  if (size > 1) FAILS(MPI_File_set_size(file, rank), MPI_ERR_NOT_SAME);
  OK(MPI_File_close(&file));
  file = opened(path, MPI_MODE_RDONLY);
  FAILS(MPI_File_write_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
  FAILS(MPI_File_set_size(file, 0), MPI_ERR_READ_ONLY);
  FAILS(MPI_File_preallocate(file, 0), MPI_ERR_READ_ONLY);
  OK(MPI_File_close(&file));
}

void check_views(Scratch& scratch, int rank, int size) {
  MPI_File file = opened(scratch.file("views"), MPI_MODE_CREATE | MPI_MODE_RDWR);
  FAILS(MPI_File_set_view(file, -2, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
  FAILS(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
  FAILS(MPI_File_set_view(file, 0, MPI_INT, MPI_SHORT, "native", MPI_INFO_NULL), MPI_ERR_TYPE);
  FAILS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "foreign", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_DATAREP);
  const int one[] = {1, 1}, back[] = {2, 0};
  MPI_Datatype descends;
  OK(MPI_Type_indexed(2, one, back, MPI_INT, &descends));
  FAILS(MPI_File_set_view(file, 0, MPI_INT, descends, "native", MPI_INFO_NULL), MPI_ERR_TYPE);  // not committed
  OK(MPI_Type_commit(&descends));
  FAILS(MPI_File_set_view(file, 0, MPI_INT, descends, "native", MPI_INFO_NULL), MPI_ERR_TYPE);
  OK(MPI_Type_free(&descends));
  if (size > 1) {
    const MPI_Datatype etype = rank ? MPI_INT : MPI_DOUBLE;
    FAILS(MPI_File_set_view(file, 0, etype, etype, "native", MPI_INFO_NULL), MPI_ERR_NOT_SAME);
    FAILS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, rank ? "native" : "external32", MPI_INFO_NULL),
          MPI_ERR_NOT_SAME);
  }
  OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  const short half = 1;
  FAILS(MPI_File_write(file, &half, 1, MPI_SHORT, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
  OK(MPI_File_close(&file));
}

// A shared pointer counts the etypes of one view; which types it was put together of does not matter.
void check_shared_views(Scratch& scratch, int rank, int size) {
  MPI_File file = opened(scratch.file("shared-views"), MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype two, every_other;
  OK(MPI_Type_contiguous(2, MPI_INT, &two));
  OK(MPI_Type_commit(&two));
  OK(MPI_Type_create_resized(MPI_INT, 0, 8, &every_other));
  OK(MPI_Type_commit(&every_other));
  int number = rank;
  MPI_Offset place;
  MPI_Request request;
  for (int turn = 0; turn < 3; ++turn) {
    const bool other = rank == size - 1 && size > 1;
    // Alike, another displacement, other tiles.
    OK(MPI_File_set_view(file, turn == 1 && other ? 4 : 0, MPI_INT,
                         turn == 0            ? (rank % 2 ? two : MPI_INT)
                         : turn == 2 && other ? every_other
                                              : MPI_INT,
                         "native", MPI_INFO_NULL));
    const int wanted = turn == 0 || size == 1 ? MPI_SUCCESS : MPI_ERR_NOT_SAME;
    CHECK_EQ(check::error_class(MPI_File_write_shared(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE)), wanted);
    int code = MPI_File_iwrite_shared(file, &number, 1, MPI_INT, &request);
    CHECK_EQ(check::error_class(code), wanted);
    if (code == MPI_SUCCESS) OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    code = MPI_File_write_ordered(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE);
    CHECK_EQ(check::error_class(code), wanted);
    if (wanted) CHECK(says(code, "the views of ranks 0 and") && says(code, "shared-views"));
    CHECK_EQ(check::error_class(MPI_File_seek_shared(file, 0, MPI_SEEK_SET)), wanted);
    CHECK_EQ(check::error_class(MPI_File_get_position_shared(file, &place)), wanted);
    OK(MPI_File_write_at_all(file, 100 + rank, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  }
  OK(MPI_Type_free(&two));
  OK(MPI_Type_free(&every_other));
  OK(MPI_File_close(&file));
}

void check_split(Scratch& scratch) {
  MPI_File file = opened(scratch.file("split"), MPI_MODE_CREATE | MPI_MODE_RDWR);
  int out = 5, other = 6;
  FAILS(MPI_File_write_all_end(file, &out, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
  OK(MPI_File_seek(file, check::world_rank * static_cast<MPI_Offset>(sizeof out), MPI_SEEK_SET));
  OK(MPI_File_write_all_begin(file, &out, 1, MPI_INT));
  FAILS(MPI_File_write_all_begin(file, &other, 1, MPI_INT), MPI_ERR_OTHER);
  FAILS(MPI_File_read_all_end(file, &out, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
  FAILS(MPI_File_write_all_end(file, &other, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
  FAILS(MPI_File_sync(file), MPI_ERR_OTHER);
  FAILS(MPI_File_close(&file), MPI_ERR_PENDING);
  CHECK(file != MPI_FILE_NULL);
  OK(MPI_File_write_all_end(file, &out, MPI_STATUS_IGNORE));
  OK(MPI_File_close(&file));
}

// A device without room, to which one rank alone writes something.
void check_no_space(int rank, int size) {
  MPI_File file;
  if (MPI_File_open(MPI_COMM_WORLD, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS) return;
  std::vector<int> data(1000, rank);
  const bool last = rank == size - 1;
  if (last) FAILS(MPI_File_write_at(file, 0, data.data(), 1000, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
  int code = MPI_File_write_at_all(file, 0, data.data(), last ? 1000 : 0, MPI_INT, MPI_STATUS_IGNORE);
  CHECK_EQ(check::error_class(code), MPI_ERR_NO_SPACE);
  CHECK(says(code, "/dev/full") && says(code, "4000 bytes at offset 0") && says(code, "No space left"));
  code = MPI_File_write_ordered(file, data.data(), 1000, MPI_INT, MPI_STATUS_IGNORE);
  CHECK_EQ(check::error_class(code), MPI_ERR_NO_SPACE);
  MPI_Request request;
  OK(MPI_File_iwrite_at(file, 0, data.data(), 1000, MPI_INT, &request));
  FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
  // In two phases, too.
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "romio_cb_write", "enable"));
  OK(MPI_File_set_info(file, info));
  OK(MPI_Info_free(&info));
  FAILS(MPI_File_write_at_all(file, 4000 * rank, data.data(), 1000, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
  OK(MPI_File_close(&file));
}

void check_names() {
  MPI_File file;
  FAILS(MPI_File_open(MPI_COMM_WORLD, "/no/such/folder/file", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
        MPI_ERR_NO_SUCH_FILE);
  FAILS(MPI_File_open(MPI_COMM_WORLD, "/", MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_BAD_FILE);
  FAILS(MPI_File_open(MPI_COMM_WORLD, std::string(5000, 'x').c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
        MPI_ERR_BAD_FILE);
}

}  // namespace

int main(int argc, char** argv) {
  check::Program program(&argc, &argv);
  const int rank = program.rank(), size = program.size();
  Scratch scratch;
  check_handlers(scratch);
  check_close(scratch, rank);
  check_modes(scratch, rank, size);
  check_views(scratch, rank, size);
  check_shared_views(scratch, rank, size);
  check_split(scratch);
  check_no_space(rank, size);
  check_names();
}
