// SPDX-License-Identifier: BSD-3-Clause
// Files (the standard, chapter 14, and what section 9.3 says of them). Files and datatypes are
// good, counts are not negative; modes, offsets and views are checked here.
#pragma once

#include "mpi/file/file.hpp"
#include "mpi/object/info.hpp"
#include "mpi/type/datatype.hpp"

namespace tutti::mpi::file {

// --- files (14.2)
Error file_open(Comm& comm, const char* filename, int amode, Info* info, MPI_File* fh);
Error file_close(MPI_File* fh);
Error file_delete(const char* filename, Info* info);
Error file_set_size(File& fh, MPI_Offset size);
Error file_preallocate(File& fh, MPI_Offset size);
Error file_get_size(File& fh, MPI_Offset* size);
Error file_get_group(File& fh, MPI_Group* group);
Error file_get_amode(File& fh, int* amode);
Error file_set_info(File& fh, Info* info);
Error file_get_info(File& fh, MPI_Info* info_used);

// --- views and pointers (14.3, 14.4.2 to 14.4.4)
Error file_set_view(File& fh, MPI_Offset disp, Datatype& etype, Datatype& filetype, const char* datarep, Info* info);
Error file_get_view(File& fh, MPI_Offset* disp, MPI_Datatype* etype, MPI_Datatype* filetype, char* datarep);
Error file_seek(File& fh, MPI_Offset offset, int whence);
Error file_get_position(File& fh, MPI_Offset* offset);
Error file_get_byte_offset(File& fh, MPI_Offset offset, MPI_Offset* disp);
Error file_seek_shared(File& fh, MPI_Offset offset, int whence);
Error file_get_position_shared(File& fh, MPI_Offset* offset);

// --- consistency, representations, error handlers (14.5, 14.6, 9.3)
Error file_set_atomicity(File& fh, int flag);
Error file_get_atomicity(File& fh, int* flag);
Error file_sync(File& fh);
Error file_get_type_extent(File& fh, Datatype& datatype, int64_t& extent);
Error register_datarep(const char* datarep, MPI_Datarep_conversion_function* read,
                       MPI_Datarep_conversion_function* write, MPI_Datarep_extent_function* extent, void* extra_state);
Error register_datarep_c(const char* datarep, MPI_Datarep_conversion_function_c* read,
                         MPI_Datarep_conversion_function_c* write, MPI_Datarep_extent_function* extent,
                         void* extra_state);

// --- access with explicit offsets (14.4.2), and its split forms (14.4.5)
Error file_iread_at(File& fh, MPI_Offset offset, void* buf, int64_t count, Datatype& datatype, MPI_Request* request);
Error file_iread_at_all(File& fh, MPI_Offset offset, void* buf, int64_t count, Datatype& datatype,
                        MPI_Request* request);
Error file_iwrite_at(File& fh, MPI_Offset offset, const void* buf, int64_t count, Datatype& datatype,
                     MPI_Request* request);
Error file_iwrite_at_all(File& fh, MPI_Offset offset, const void* buf, int64_t count, Datatype& datatype,
                         MPI_Request* request);
Error file_read_at(File& fh, MPI_Offset offset, void* buf, int64_t count, Datatype& datatype, MPI_Status* status);
Error file_read_at_all(File& fh, MPI_Offset offset, void* buf, int64_t count, Datatype& datatype, MPI_Status* status);
Error file_read_at_all_begin(File& fh, MPI_Offset offset, void* buf, int64_t count, Datatype& datatype);
Error file_read_at_all_end(File& fh, void* buf, MPI_Status* status);
Error file_write_at(File& fh, MPI_Offset offset, const void* buf, int64_t count, Datatype& datatype,
                    MPI_Status* status);
Error file_write_at_all(File& fh, MPI_Offset offset, const void* buf, int64_t count, Datatype& datatype,
                        MPI_Status* status);
Error file_write_at_all_begin(File& fh, MPI_Offset offset, const void* buf, int64_t count, Datatype& datatype);
Error file_write_at_all_end(File& fh, const void* buf, MPI_Status* status);

// --- access with individual pointers (14.4.3), and its split forms (14.4.5)
Error file_iread(File& fh, void* buf, int64_t count, Datatype& datatype, MPI_Request* request);
Error file_iread_all(File& fh, void* buf, int64_t count, Datatype& datatype, MPI_Request* request);
Error file_iwrite(File& fh, const void* buf, int64_t count, Datatype& datatype, MPI_Request* request);
Error file_iwrite_all(File& fh, const void* buf, int64_t count, Datatype& datatype, MPI_Request* request);
Error file_read(File& fh, void* buf, int64_t count, Datatype& datatype, MPI_Status* status);
Error file_read_all(File& fh, void* buf, int64_t count, Datatype& datatype, MPI_Status* status);
Error file_read_all_begin(File& fh, void* buf, int64_t count, Datatype& datatype);
Error file_read_all_end(File& fh, void* buf, MPI_Status* status);
Error file_write(File& fh, const void* buf, int64_t count, Datatype& datatype, MPI_Status* status);
Error file_write_all(File& fh, const void* buf, int64_t count, Datatype& datatype, MPI_Status* status);
Error file_write_all_begin(File& fh, const void* buf, int64_t count, Datatype& datatype);
Error file_write_all_end(File& fh, const void* buf, MPI_Status* status);

// --- access with shared pointers (14.4.4), and its split forms (14.4.5)
Error file_iread_shared(File& fh, void* buf, int64_t count, Datatype& datatype, MPI_Request* request);
Error file_iwrite_shared(File& fh, const void* buf, int64_t count, Datatype& datatype, MPI_Request* request);
Error file_read_ordered(File& fh, void* buf, int64_t count, Datatype& datatype, MPI_Status* status);
Error file_read_ordered_begin(File& fh, void* buf, int64_t count, Datatype& datatype);
Error file_read_ordered_end(File& fh, void* buf, MPI_Status* status);
Error file_read_shared(File& fh, void* buf, int64_t count, Datatype& datatype, MPI_Status* status);
Error file_write_ordered(File& fh, const void* buf, int64_t count, Datatype& datatype, MPI_Status* status);
Error file_write_ordered_begin(File& fh, const void* buf, int64_t count, Datatype& datatype);
Error file_write_ordered_end(File& fh, const void* buf, MPI_Status* status);
Error file_write_shared(File& fh, const void* buf, int64_t count, Datatype& datatype, MPI_Status* status);

}  // namespace tutti::mpi::file
