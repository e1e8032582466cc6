// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/type/api_type_attribute.hpp"

namespace tutti::mpi {

Error type_set_attr(Datatype& datatype, int keyval, void* value) {
  return datatype.attributes.set(datatype.handle, keyval, value);
}
Error type_get_attr(const Datatype& datatype, int keyval, void* value, int* flag) {
  bool found = false;
  Error error = datatype.attributes.get(keyval, static_cast<void**>(value), found);
  *flag = found;
  return error;
}
Error type_delete_attr(Datatype& datatype, int keyval) {
  return datatype.attributes.remove(datatype.handle, keyval);
}

}  // namespace tutti::mpi
