// SPDX-License-Identifier: BSD-3-Clause
// What the entry points MPI_Info_* call (the standard, chapter 10 and 11.2.1). Handles and
// addresses of results are checked before, the strings here. No Info* is nullptr.
#pragma once

#include "mpi/object/info.hpp"

namespace tutti::mpi {

Error info_create(MPI_Info* info);
Error info_create_env(int argc, char** argv, MPI_Info* info);
Error info_dup(const Info* info, MPI_Info* newinfo);
Error info_free(MPI_Info* info);
Error info_set(Info* info, const char* key, const char* value);
Error info_delete(Info* info, const char* key);
Error info_get(const Info* info, const char* key, int valuelen, char* value, int* flag);
Error info_get_string(const Info* info, const char* key, int* buflen, char* value, int* flag);
Error info_get_valuelen(const Info* info, const char* key, int* valuelen, int* flag);
Error info_get_nkeys(const Info* info, int* nkeys);
Error info_get_nthkey(const Info* info, int n, char* key);

}  // namespace tutti::mpi
