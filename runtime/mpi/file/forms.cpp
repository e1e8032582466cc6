// SPDX-License-Identifier: BSD-3-Clause
// The many ways to read and write (the standard, section 14.4): each is one of four acts, and says
// where the data lie and who takes part.
#include "functions.hpp"
#include "mpi/file/access.hpp"
#include "mpi/file/api_file.hpp"

namespace tutti::mpi::file {

Error file_iread(File& fh, void* buf, int64_t count, Datatype& datatype, MPI_Request* request) {
  return start_access(fh, {Function::File_iread, false, Where::individual, false}, {0, buf, count, &datatype}, request);
}
Error file_iread_all(File& fh, void* buf, int64_t count, Datatype& datatype, MPI_Request* request) {
  return start_access(fh, {Function::File_iread_all, false, Where::individual, true}, {0, buf, count, &datatype},
                      request);
}
Error file_iread_at(File& fh, MPI_Offset offset, void* buf, int64_t count, Datatype& datatype, MPI_Request* request) {
  return start_access(fh, {Function::File_iread_at, false, Where::at, false}, {offset, buf, count, &datatype}, request);
}
Error file_iread_at_all(File& fh, MPI_Offset offset, void* buf, int64_t count, Datatype& datatype,
                        MPI_Request* request) {
  return start_access(fh, {Function::File_iread_at_all, false, Where::at, true}, {offset, buf, count, &datatype},
                      request);
}
Error file_iread_shared(File& fh, void* buf, int64_t count, Datatype& datatype, MPI_Request* request) {
  return start_access(fh, {Function::File_iread_shared, false, Where::shared, false}, {0, buf, count, &datatype},
                      request);
}
Error file_iwrite(File& fh, const void* buf, int64_t count, Datatype& datatype, MPI_Request* request) {
  return start_access(fh, {Function::File_iwrite, true, Where::individual, false},
                      {0, const_cast<void*>(buf), count, &datatype}, request);
}
Error file_iwrite_all(File& fh, const void* buf, int64_t count, Datatype& datatype, MPI_Request* request) {
  return start_access(fh, {Function::File_iwrite_all, true, Where::individual, true},
                      {0, const_cast<void*>(buf), count, &datatype}, request);
}
Error file_iwrite_at(File& fh, MPI_Offset offset, const void* buf, int64_t count, Datatype& datatype,
                     MPI_Request* request) {
  return start_access(fh, {Function::File_iwrite_at, true, Where::at, false},
                      {offset, const_cast<void*>(buf), count, &datatype}, request);
}
Error file_iwrite_at_all(File& fh, MPI_Offset offset, const void* buf, int64_t count, Datatype& datatype,
                         MPI_Request* request) {
  return start_access(fh, {Function::File_iwrite_at_all, true, Where::at, true},
                      {offset, const_cast<void*>(buf), count, &datatype}, request);
}
Error file_iwrite_shared(File& fh, const void* buf, int64_t count, Datatype& datatype, MPI_Request* request) {
  return start_access(fh, {Function::File_iwrite_shared, true, Where::shared, false},
                      {0, const_cast<void*>(buf), count, &datatype}, request);
}
Error file_read(File& fh, void* buf, int64_t count, Datatype& datatype, MPI_Status* status) {
  return access(fh, {Function::File_read, false, Where::individual, false}, {0, buf, count, &datatype}, status);
}
Error file_read_all(File& fh, void* buf, int64_t count, Datatype& datatype, MPI_Status* status) {
  return access(fh, {Function::File_read_all, false, Where::individual, true}, {0, buf, count, &datatype}, status);
}
Error file_read_all_begin(File& fh, void* buf, int64_t count, Datatype& datatype) {
  return begin_split(fh, {Function::File_read_all_begin, false, Where::individual, true}, {0, buf, count, &datatype});
}
Error file_read_all_end(File& fh, void* buf, MPI_Status* status) {
  return end_split(fh, Function::File_read_all_begin, buf, status);
}
Error file_read_at(File& fh, MPI_Offset offset, void* buf, int64_t count, Datatype& datatype, MPI_Status* status) {
  return access(fh, {Function::File_read_at, false, Where::at, false}, {offset, buf, count, &datatype}, status);
}
Error file_read_at_all(File& fh, MPI_Offset offset, void* buf, int64_t count, Datatype& datatype, MPI_Status* status) {
  return access(fh, {Function::File_read_at_all, false, Where::at, true}, {offset, buf, count, &datatype}, status);
}
Error file_read_at_all_begin(File& fh, MPI_Offset offset, void* buf, int64_t count, Datatype& datatype) {
  return begin_split(fh, {Function::File_read_at_all_begin, false, Where::at, true}, {offset, buf, count, &datatype});
}
Error file_read_at_all_end(File& fh, void* buf, MPI_Status* status) {
  return end_split(fh, Function::File_read_at_all_begin, buf, status);
}
Error file_read_ordered(File& fh, void* buf, int64_t count, Datatype& datatype, MPI_Status* status) {
  return access(fh, {Function::File_read_ordered, false, Where::ordered, true}, {0, buf, count, &datatype}, status);
}
Error file_read_ordered_begin(File& fh, void* buf, int64_t count, Datatype& datatype) {
  return begin_split(fh, {Function::File_read_ordered_begin, false, Where::ordered, true}, {0, buf, count, &datatype});
}
Error file_read_ordered_end(File& fh, void* buf, MPI_Status* status) {
  return end_split(fh, Function::File_read_ordered_begin, buf, status);
}
Error file_read_shared(File& fh, void* buf, int64_t count, Datatype& datatype, MPI_Status* status) {
  return access(fh, {Function::File_read_shared, false, Where::shared, false}, {0, buf, count, &datatype}, status);
}
Error file_write(File& fh, const void* buf, int64_t count, Datatype& datatype, MPI_Status* status) {
  return access(fh, {Function::File_write, true, Where::individual, false},
                {0, const_cast<void*>(buf), count, &datatype}, status);
}
Error file_write_all(File& fh, const void* buf, int64_t count, Datatype& datatype, MPI_Status* status) {
  return access(fh, {Function::File_write_all, true, Where::individual, true},
                {0, const_cast<void*>(buf), count, &datatype}, status);
}
Error file_write_all_begin(File& fh, const void* buf, int64_t count, Datatype& datatype) {
  return begin_split(fh, {Function::File_write_all_begin, true, Where::individual, true},
                     {0, const_cast<void*>(buf), count, &datatype});
}
Error file_write_all_end(File& fh, const void* buf, MPI_Status* status) {
  return end_split(fh, Function::File_write_all_begin, buf, status);
}
Error file_write_at(File& fh, MPI_Offset offset, const void* buf, int64_t count, Datatype& datatype,
                    MPI_Status* status) {
  return access(fh, {Function::File_write_at, true, Where::at, false},
                {offset, const_cast<void*>(buf), count, &datatype}, status);
}
Error file_write_at_all(File& fh, MPI_Offset offset, const void* buf, int64_t count, Datatype& datatype,
                        MPI_Status* status) {
  return access(fh, {Function::File_write_at_all, true, Where::at, true},
                {offset, const_cast<void*>(buf), count, &datatype}, status);
}
Error file_write_at_all_begin(File& fh, MPI_Offset offset, const void* buf, int64_t count, Datatype& datatype) {
  return begin_split(fh, {Function::File_write_at_all_begin, true, Where::at, true},
                     {offset, const_cast<void*>(buf), count, &datatype});
}
Error file_write_at_all_end(File& fh, const void* buf, MPI_Status* status) {
  return end_split(fh, Function::File_write_at_all_begin, buf, status);
}
Error file_write_ordered(File& fh, const void* buf, int64_t count, Datatype& datatype, MPI_Status* status) {
  return access(fh, {Function::File_write_ordered, true, Where::ordered, true},
                {0, const_cast<void*>(buf), count, &datatype}, status);
}
Error file_write_ordered_begin(File& fh, const void* buf, int64_t count, Datatype& datatype) {
  return begin_split(fh, {Function::File_write_ordered_begin, true, Where::ordered, true},
                     {0, const_cast<void*>(buf), count, &datatype});
}
Error file_write_ordered_end(File& fh, const void* buf, MPI_Status* status) {
  return end_split(fh, Function::File_write_ordered_begin, buf, status);
}
Error file_write_shared(File& fh, const void* buf, int64_t count, Datatype& datatype, MPI_Status* status) {
  return access(fh, {Function::File_write_shared, true, Where::shared, false},
                {0, const_cast<void*>(buf), count, &datatype}, status);
}

}  // namespace tutti::mpi::file
