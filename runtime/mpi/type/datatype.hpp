// SPDX-License-Identifier: BSD-3-Clause
// Datatypes (the standard, chapter 5): a Layout (where the bytes lie), a type map in short (which
// predefined types, for reductions, MPI_Get_elements and signatures), and how it was made
// (envelope, contents).
#pragma once

#include <cstdint>
#include <vector>

#include "base/layout.hpp"
#include "memory/element.hpp"
#include "mpi/object/attribute.hpp"
#include "mpi/object/objects.hpp"
#include "mpi/type/datatype_signature.hpp"

namespace tutti::mpi {

// How a predefined type is represented: what a reduction kernel and a conversion need to know.
using memory::Element;

// Which operations the standard allows (6.9.2).
enum class TypeClass : uint8_t {
  // clang-format off
  none, c_integer, fortran_integer, floating, logical, complex, byte, multi_language, pair, character,
};
// clang-format on

// Types of an element that follow each other in the type map.
struct TypeRun {
  const class Datatype* type;
  int64_t count;
};

// Immutable but for name, attributes and the committed flag; any thread may read it.
// Large: it is an object of the standard, with a field for each thing that one knows of a datatype.
class Datatype final : public NamedObject {
 public:
  Datatype(LayoutRef layout, bool committed)
      : NamedObject(Tag::datatype), layout(std::move(layout)), committed(committed), handle(handle_of(*this)) {}

  const LayoutRef layout;
  bool committed = false;
  bool predefined = false;
  MPI_Datatype handle = MPI_DATATYPE_NULL;  // the ABI's number, or this object's address
  Element element = Element::none;          // predefined types; and their dups
  TypeClass type_class = TypeClass::none;

  // How it was made (MPI_Type_get_envelope): combiner and arguments. Referenced types are held.
  int combiner = MPI_COMBINER_NAMED;
  std::vector<int> integers;
  std::vector<int64_t> addresses;
  std::vector<int64_t> large_counts;
  std::vector<Ref<Datatype>> parts;

  // The type map of one element by its parts, in order; empty for a basic type. The types are
  // among `parts` or predefined.
  std::vector<TypeRun> runs;
  int64_t basic_elements = 1;  // in one element (pair types count two)
  Signature signature;         // of one element
  Pattern pattern = 0;         // of the signature, whatever the count

  AttributeSet attributes{KeyKind::type};

  Payload payload(const void* base, int64_t count) const { return {const_cast<void*>(base), count, layout.get()}; }
};

// For messages: "MPI_INT", the name that a program gave, or "a derived datatype".
std::string description(const Datatype& type);

// The pattern of the first `elements` basic elements of the type map, which repeats as often as
// needed.
Pattern pattern_of(const Datatype& type, uint64_t elements);

// The signature of `count` elements.
Signature signature(const Datatype& type, int64_t count);

// Basic elements in the first `bytes` of packed data of this type, repeated as often as needed;
// MPI_UNDEFINED if the last one is not whole (MPI_Get_elements). And the reverse.
int64_t elements_in(const Datatype& type, int64_t bytes);
int64_t bytes_of(const Datatype& type, int64_t elements);

}  // namespace tutti::mpi
