// SPDX-License-Identifier: BSD-3-Clause
// The keys of attributes of communicators and datatypes (the standard, section 7.7), with their old names (16.1).
// The attributes are each chapter's.
#pragma once

#include "mpi/object/attribute.hpp"

namespace tutti::mpi {

Error comm_create_keyval(MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* destroy, int* keyval,
                         void* extra_state);
Error comm_free_keyval(int* keyval);

Error keyval_create(MPI_Copy_function* copy, MPI_Delete_function* destroy, int* keyval, void* extra_state);
Error keyval_free(int* keyval);

Error type_create_keyval(MPI_Type_copy_attr_function* copy, MPI_Type_delete_attr_function* destroy, int* keyval,
                         void* extra_state);
Error type_free_keyval(int* keyval);

}  // namespace tutti::mpi
