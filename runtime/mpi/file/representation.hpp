// SPDX-License-Identifier: BSD-3-Clause
// Data representations (the standard, section 14.5): how values lie in a file. `native` and
// `internal` are the bytes of memory; external32 and those that a program registers are converted
// on the way.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "mpi/type/datatype.hpp"

namespace tutti::mpi::file {

struct Representation {
  enum class Kind { as_in_memory, external32, registered };
  using Conversion = MPI_Datarep_conversion_function_c*;
  using SmallConversion = MPI_Datarep_conversion_function*;

  bool converts() const { return kind != Kind::as_in_memory; }

  std::string name;
  Kind kind = Kind::as_in_memory;
  // Of a registered one; without a conversion the bytes of memory are those of the file.
  Conversion read = nullptr, write = nullptr;
  SmallConversion read_small = nullptr, write_small = nullptr;
  MPI_Datarep_extent_function* extent = nullptr;
  void* extra_state = nullptr;
};
using RepresentationRef = std::shared_ptr<const Representation>;

RepresentationRef native_representation();
RepresentationRef find_representation(std::string_view name);  // nullptr: there is none
Error add_representation(Representation made);

// The type by which data of `type` lie in a file of this representation: the same constructors, of
// basic types as large as they are there.
Result<Ref<Datatype>> type_in_file(Datatype& type, const Representation& representation);

// `count` elements of `type` at `memory` to and from the dense bytes of the file; `in_file` is what
// one takes.
Error to_file(const Representation& representation, const void* memory, int64_t count, Datatype& type, void* bytes,
              int64_t in_file);
Error from_file(const Representation& representation, const void* bytes, int64_t in_file, void* memory, int64_t count,
                Datatype& type);
// Behind `elements` of them: the beginning of one more, as far as the file has it. Converts the basic elements that are
// whole, and adds their bytes in memory to `bytes`.
Error rest_from_file(const Representation& representation, std::span<const std::byte> rest, int64_t in_file,
                     const Payload& memory, int64_t elements, Datatype& type, int64_t& bytes);

}  // namespace tutti::mpi::file
