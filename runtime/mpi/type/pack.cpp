// SPDX-License-Identifier: BSD-3-Clause
// MPI_Pack and its kin (the standard, 5.2). Packed data is the bytes in type-map order and nothing
// else, as in a message: what is packed can be sent as MPI_PACKED and received as its types.
#include "mpi/type/pack.hpp"

#include "memory/movers.hpp"
#include "mpi/type/api_datatype.hpp"
#include "mpi/type/datatype_maker.hpp"

namespace tutti::mpi {

Error check_room(const char* what, const void* packed, int64_t size, int64_t position, int64_t count,
                 const Datatype& datatype, int64_t bytes_each, int64_t& bytes) {
  if (!multiply(count, bytes_each, bytes)) return too_large();
  if (position < 0 || position > size)
    return failure(MPI_ERR_ARG, "position {} is outside of the {} bytes of {}", position, size, what);
  if (bytes > size - position)
    return failure(MPI_ERR_TRUNCATE, "{} elements of {} take {} bytes, but {} has only {} behind position {}", count,
                   description(datatype), bytes, what, size - position, position);
  if (bytes > 0 && packed == nullptr) return failure(MPI_ERR_BUFFER, "{} is NULL", what);
  return {};
}

Error pack(const void* inbuf, int64_t incount, const Datatype& datatype, void* outbuf, int64_t outsize,
           int64_t& position, const Comm&) {
  int64_t bytes = 0;
  if (Error error = check_room("outbuf", outbuf, outsize, position, incount, datatype, datatype.layout->size(), bytes))
    return error;
  if (bytes == 0) return {};
  memory::pack(datatype.payload(inbuf, incount), 0, static_cast<char*>(outbuf) + position, bytes);
  position += bytes;
  return {};
}

Error unpack(const void* inbuf, int64_t insize, int64_t& position, void* outbuf, int64_t outcount,
             const Datatype& datatype, const Comm&) {
  int64_t bytes = 0;
  if (Error error = check_room("inbuf", inbuf, insize, position, outcount, datatype, datatype.layout->size(), bytes))
    return error;
  if (bytes == 0) return {};
  memory::unpack(datatype.payload(outbuf, outcount), 0, static_cast<const char*>(inbuf) + position, bytes);
  position += bytes;
  return {};
}

Error pack_size(int64_t incount, const Datatype& datatype, const Comm&, int64_t& size) {
  return multiply(incount, datatype.layout->size(), size) ? Error() : too_large();
}

}  // namespace tutti::mpi
