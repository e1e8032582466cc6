// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/object/api_attribute.hpp"

namespace tutti::mpi {

namespace {

template <class Copy, class Delete>
int create(KeyKind kind, Copy* copy, Delete* destroy, void* extra_state) {
  return create_key(kind, reinterpret_cast<void*>(copy), reinterpret_cast<void*>(destroy), extra_state);
}

}  // namespace

Error comm_create_keyval(MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* destroy, int* keyval,
                         void* extra_state) {
  *keyval = create(KeyKind::comm, copy, destroy, extra_state);
  return {};
}
Error comm_free_keyval(int* keyval) {
  return free_key(KeyKind::comm, *keyval);
}

Error keyval_create(MPI_Copy_function* copy, MPI_Delete_function* destroy, int* keyval, void* extra_state) {
  *keyval = create(KeyKind::comm, copy, destroy, extra_state);
  return {};
}
Error keyval_free(int* keyval) {
  return free_key(KeyKind::comm, *keyval);
}

Error type_create_keyval(MPI_Type_copy_attr_function* copy, MPI_Type_delete_attr_function* destroy, int* keyval,
                         void* extra_state) {
  *keyval = create(KeyKind::type, copy, destroy, extra_state);
  return {};
}
Error type_free_keyval(int* keyval) {
  return free_key(KeyKind::type, *keyval);
}

}  // namespace tutti::mpi
