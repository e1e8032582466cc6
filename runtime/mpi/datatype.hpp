// SPDX-License-Identifier: BSD-3-Clause
// Datatypes (the standard, chapter 5): a Layout (where the bytes lie), a type map in short (which
// predefined types, for reductions and Get_elements), and how it was made (envelope, contents).
#pragma once

#include <cstdint>
#include <vector>

#include "base/layout.hpp"
#include "mpi/objects.hpp"

namespace tutti::mpi {

// What a reduction kernel needs to know of a predefined type; none for types without a kernel.
enum class Element : uint8_t {
  none, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
  float16, float32, float64, float80,
  complex_float16, complex_float32, complex_float64, complex_float80,
  logical8, logical16, logical32, logical64, boolean, byte,
  float_int, double_int, long_int, two_int, short_int, long_double_int,
  two_float, two_double,
};

// A run of equal predefined types in type-map order, for Get_elements and signatures.
struct TypeRun {
  const class Datatype* type;  // predefined
  int64_t count;
};

class Datatype final : public Object {
 public:
  Datatype(LayoutRef layout, bool committed) : Object(Tag::datatype), layout(std::move(layout)), committed(committed) {}

  LayoutRef layout;
  bool committed = false;
  bool predefined = false;
  MPI_Datatype handle = MPI_DATATYPE_NULL;  // the ABI's number, or this object's address
  Element element = Element::none;          // predefined types; and their dups

  // How it was made (MPI_Type_get_envelope): combiner and arguments. Referenced types are held.
  int combiner = MPI_COMBINER_NAMED;
  std::vector<int64_t> integers;
  std::vector<int64_t> addresses;
  std::vector<int64_t> large_counts;
  std::vector<Ref<Datatype>> parts;

  // The type map of one element, compressed: runs of predefined types. A large or deeply nested
  // type keeps only its parts; see type_map().
  int64_t basic_elements = 1;  // predefined elements in one element (pair types count two)

  Payload payload(const void* base, int64_t count) const {
    return {const_cast<void*>(base), count, layout.get()};
  }
};

}  // namespace tutti::mpi
