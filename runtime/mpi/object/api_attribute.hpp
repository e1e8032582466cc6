// SPDX-License-Identifier: BSD-3-Clause
// What the entry points of the standard's section 7.7 call, and the old names of those for
// communicators (16.1). Handles and addresses of results are checked before; keys here.
#pragma once

#include "mpi/object/attribute.hpp"
#include "mpi/type/datatype.hpp"

namespace tutti::mpi {

Error comm_create_keyval(MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* destroy,
                         int* keyval, void* extra_state);
Error comm_free_keyval(int* keyval);
Error comm_set_attr(Comm& comm, int keyval, void* value);
Error comm_get_attr(Comm& comm, int keyval, void* value, int* flag);
Error comm_delete_attr(Comm& comm, int keyval);

Error keyval_create(MPI_Copy_function* copy, MPI_Delete_function* destroy, int* keyval,
                    void* extra_state);
Error keyval_free(int* keyval);
Error attr_put(Comm& comm, int keyval, void* value);
Error attr_get(Comm& comm, int keyval, void* value, int* flag);
Error attr_delete(Comm& comm, int keyval);

Error type_create_keyval(MPI_Type_copy_attr_function* copy, MPI_Type_delete_attr_function* destroy,
                         int* keyval, void* extra_state);
Error type_free_keyval(int* keyval);
Error type_set_attr(Datatype& datatype, int keyval, void* value);
Error type_get_attr(const Datatype& datatype, int keyval, void* value, int* flag);
Error type_delete_attr(Datatype& datatype, int keyval);

}  // namespace tutti::mpi
