// SPDX-License-Identifier: BSD-3-Clause
// Start and end of MPI, and inquiries (the standard, chapters 9 and 11).
#pragma once

#include "mpi/comm/comm.hpp"
#include "mpi/object/info.hpp"

namespace tutti::mpi::env {

Error init(int* argc, char*** argv);
Error init_thread(int* argc, char*** argv, int required, int* provided);
Error finalize();
Error initialized(int* flag);
Error finalized(int* flag);
Error query_thread(int* provided);
Error is_thread_main(int* flag);
Error abort(Comm& comm, int errorcode);

Error get_version(int* version, int* subversion);
Error get_processor_name(char* name, int* resultlen);

Error alloc_mem(MPI_Aint size, Info* info, void* baseptr);
Error free_mem(void* base);

}  // namespace tutti::mpi::env
