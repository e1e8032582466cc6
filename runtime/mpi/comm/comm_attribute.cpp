// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/api_comm_attribute.hpp"

namespace tutti::mpi {

Error comm_set_attr(Comm& comm, int keyval, void* value) {
  return comm.attributes.set(comm.handle, keyval, value);
}
Error comm_get_attr(Comm& comm, int keyval, void* value, int* flag) {
  bool found = false;
  Error error = comm.attributes.get(keyval, static_cast<void**>(value), found);
  *flag = found;
  return error;
}
Error comm_delete_attr(Comm& comm, int keyval) {
  return comm.attributes.remove(comm.handle, keyval);
}

Error attr_put(Comm& comm, int keyval, void* value) {
  return comm_set_attr(comm, keyval, value);
}
Error attr_get(Comm& comm, int keyval, void* value, int* flag) {
  return comm_get_attr(comm, keyval, value, flag);
}
Error attr_delete(Comm& comm, int keyval) {
  return comm_delete_attr(comm, keyval);
}

}  // namespace tutti::mpi
