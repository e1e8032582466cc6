// SPDX-License-Identifier: BSD-3-Clause
// What --check=strict has to say at MPI_Finalize of files: errors that were returned and that nobody has asked about, and
// ranks that write the same bytes; and what is right.
#include <unistd.h>

#include <string>

#include "strict_cases.hpp"

namespace strict {
namespace {

MPI_File opened() {
  std::string path = "/tmp/tutti-strict-" + std::to_string(getpid());
  path.resize(64);
  MPI_Bcast(path.data(), 64, MPI_CHAR, 0, world);
  MPI_File file;
  MPI_File_open(world, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  return file;
}

// 12 bytes through a view whose etype has 8.
int write_askew(MPI_File file) {
  return MPI_File_write_at(file, 2 * rank, into, 3, MPI_INT, MPI_STATUS_IGNORE);  // LINE file_error
}
MPI_File opened_in_doubles() {
  MPI_File file = opened();
  MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL);
  return file;
}

void write_at(MPI_File file, int byte, int count) {
  MPI_File_write_at(file, byte, into, count, MPI_INT, MPI_STATUS_IGNORE);  // LINE file_race
}

void is_about_a_buffer(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  if (error_class != MPI_ERR_BUFFER) MPI_Abort(world, 4);
}

// Rank 0's buffer is in use already. All hear of it, there in the call that it is given to, elsewhere at the end.
void refuse_buffer() {
  MPI_File file = opened();
  MPI_Request receive = MPI_REQUEST_NULL, access;
  if (rank == 0) MPI_Irecv(into, 4, MPI_INT, 1, 0, world, &receive);
  is_about_a_buffer(MPI_File_read_at_all(file, 0, into, 4, MPI_INT, MPI_STATUS_IGNORE));
  int code = MPI_File_iread_at_all(file, 0, into, 4, MPI_INT, &access);
  is_about_a_buffer(code == MPI_SUCCESS ? MPI_Wait(&access, MPI_STATUS_IGNORE) : code);
  code = MPI_File_read_at_all_begin(file, 0, into, 4, MPI_INT);
  is_about_a_buffer(code == MPI_SUCCESS ? MPI_File_read_at_all_end(file, into, MPI_STATUS_IGNORE) : code);
  if (rank == 1) MPI_Send(two, 2, MPI_INT, 0, 0, world);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  if (MPI_File_read_at_all(file, 0, into, 4, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS) MPI_Abort(world, 5);
  MPI_File_close(&file);
}

}  // namespace

// clang-format off
Cases file_cases() {
  return {
    {"file_error",
     [] {
       MPI_File file = opened_in_doubles();
       for (int i = 0; i < 2; ++i) write_askew(file);
       MPI_File_close(&file);
     }},
    {"file_errors_apart",
     [] {
       MPI_File file = opened_in_doubles();
       MPI_File_write_at(file, 0, into, 3, MPI_INT, MPI_STATUS_IGNORE);  // LINE file_errors_apart
       MPI_File_read_at(file, 0, into, 3, MPI_INT, MPI_STATUS_IGNORE);
       MPI_File_close(&file);
     }},
    {"file_race",
     [] {
       MPI_File file = opened();
       write_at(file, 8 * rank, 4);
       MPI_File_close(&file);
     }},
    {"file_race_together",
     [] {
       MPI_File file = opened();
       const MPI_Datatype type = rank == 0 ? MPI_INT : MPI_CHAR;
       MPI_File_write_at_all(file, rank == 0 ? 0 : 4, into, 1, type, MPI_STATUS_IGNORE);  // LINE file_race_together
       MPI_File_close(&file);
     }},
    {"file_race_later",  // behind a call that orders what was before
     [] {
       MPI_File file = opened();
       if (rank == 0) write_at(file, 0, 1);
       MPI_File_sync(file);
       MPI_Barrier(world);
       MPI_File_sync(file);
       MPI_Request request;
       MPI_File_iwrite_at(file, 0, into, 1, MPI_INT, &request);  // LINE file_race_later
       MPI_Wait(&request, MPI_STATUS_IGNORE);
       MPI_File_sync(file);
       MPI_File_close(&file);
     }},
    // ---- wrong, and returned
    {"file_buffer_refused", refuse_buffer},
    // ---- right: silent
    {"file_error_asked",
     [] {
       MPI_File file = opened_in_doubles();
       int error_class, length;
       char text[MPI_MAX_ERROR_STRING];
       MPI_Error_class(write_askew(file), &error_class);
       MPI_Error_string(write_askew(file), text, &length);
       MPI_File_close(&file);
       MPI_File_open(world, "/no/such/folder/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);  // is there one?
     }},
    {"file_error_handled",
     [] {
       MPI_File file = opened_in_doubles();
       MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
       write_askew(file);
       MPI_File_close(&file);
     }},
    {"file_in_turn",
     [] {
       MPI_File file = opened();
       for (int i = 0; i < size; ++i) {
         if (rank == i) write_at(file, 0, 4);
         MPI_File_sync(file);
         MPI_Barrier(world);
         MPI_File_sync(file);
       }
       write_at(file, 16 * rank, 4);  // side by side
       write_at(file, 16 * rank, 4);  // and twice by one rank
       MPI_File_close(&file);
     }},
    {"file_atomic",
     [] {
       MPI_File file = opened();
       MPI_File_set_atomicity(file, 1);
       write_at(file, 0, 4);
       MPI_File_write_at_all(file, 0, into, 1, MPI_INT, MPI_STATUS_IGNORE);
       MPI_File_close(&file);
     }},
    {"file_interleaved",
     [] {
       MPI_File file = opened();
       MPI_Datatype every;
       MPI_Type_create_resized(MPI_INT, 0, size * static_cast<MPI_Aint>(sizeof(int)), &every);
       MPI_Type_commit(&every);
       MPI_File_set_view(file, rank * static_cast<MPI_Offset>(sizeof(int)), MPI_INT, every, "native", MPI_INFO_NULL);
       MPI_File_write_all(file, into, 32, MPI_INT, MPI_STATUS_IGNORE);
       MPI_File_close(&file);
       MPI_Type_free(&every);
     }},
  };
}
// clang-format on

}  // namespace strict
