// SPDX-License-Identifier: BSD-3-Clause
// What all constructors of datatypes share: recording the arguments, and the last steps from a
// layout to a handle.
#pragma once

#include <limits>

#include "base/ints.hpp"
#include "mpi/type/datatype.hpp"

namespace tutti::mpi {

// Which of the two C functions was called: MPI_Type_x or MPI_Type_x_c.
enum class CountForm : uint8_t { small, large };

// The arguments as MPI_Type_get_contents returns them (the standard, 5.1.13).
class TypeArguments {
 public:
  TypeArguments(int combiner, CountForm form) : combiner(combiner), form(form) {}

  // An int in both forms.
  TypeArguments& integer(int64_t value) {
    integers.push_back(static_cast<int>(value));
    return *this;
  }
  // A count: an int in the small form, a large count in the other.
  TypeArguments& count(int64_t value) {
    if (form == CountForm::large)
      large_counts.push_back(value);
    else
      integers.push_back(static_cast<int>(value));
    return *this;
  }
  // A displacement in bytes: an address in the small form, a large count in the other.
  TypeArguments& bytes(int64_t value) {
    (form == CountForm::large ? large_counts : addresses).push_back(value);
    return *this;
  }
  TypeArguments& all_integers(Ints values, int64_t n) {
    for (int64_t i = 0; i < n; i++) integer(values[i]);
    return *this;
  }
  TypeArguments& all_counts(Ints values, int64_t n) {
    for (int64_t i = 0; i < n; i++) count(values[i]);
    return *this;
  }
  TypeArguments& all_bytes(Ints values, int64_t n) {
    for (int64_t i = 0; i < n; i++) bytes(values[i]);
    return *this;
  }

  int combiner;
  CountForm form;
  std::vector<int> integers;
  std::vector<int64_t> addresses, large_counts;
};

// a * b if that fits in 64 bits.
inline bool multiply(int64_t a, int64_t b, int64_t& product) {
  return !__builtin_mul_overflow(a, b, &product);
}

Error too_large();

// A type of `layout`, whose type map is `runs`, made of `parts` (one reference to each is taken).
// nullptr as layout: the sizes do not fit.
Error make_type(LayoutRef layout, TypeArguments arguments, const std::vector<Datatype*>& parts,
                std::vector<TypeRun> runs, MPI_Datatype* newtype);

}  // namespace tutti::mpi
