// SPDX-License-Identifier: BSD-3-Clause
// The predefined datatypes, and what follows from a type map: signatures and counts of elements.
#include "mpi/type/datatype.hpp"

#include <complex>
#include <cstddef>
#include <type_traits>

#include "memory/element.hpp"

namespace tutti::mpi {

namespace {

struct Row {
  MPI_Datatype handle;
  const char* name;
  size_t size, alignment;
  Element element;
  TypeClass type_class;
};

// Of the C type, with Fortran's types as gfortran has them: INTEGER, REAL and LOGICAL of 4 bytes,
// DOUBLE PRECISION of 8.
#define TYPE(handle, type, element, type_class) \
  {handle, #handle, sizeof(type), alignof(type), Element::element, TypeClass::type_class}

// Of two names of one type, MPI_Type_get_name gives the one to which the standard calls the other a synonym.
// char and wchar_t are characters, not numbers: no reduction is defined on them (6.9.2). Those of char are
// computed all the same (op.cpp), with the sign that it has here.
#define CHARACTER(handle)                                   \
  {handle,                                                  \
   #handle,                                                 \
   sizeof(char),                                            \
   alignof(char),                                           \
   std::is_signed_v<char> ? Element::int8 : Element::uint8, \
   TypeClass::character}

const Row kBasicTypes[] = {
    CHARACTER(MPI_CHAR),
    TYPE(MPI_WCHAR, wchar_t, int32, none),
    CHARACTER(MPI_CHARACTER),
    TYPE(MPI_PACKED, char, byte, none),
    TYPE(MPI_BYTE, unsigned char, byte, byte),

    TYPE(MPI_SIGNED_CHAR, signed char, int8, c_integer),
    TYPE(MPI_SHORT, short, int16, c_integer),
    TYPE(MPI_INT, int, int32, c_integer),
    TYPE(MPI_LONG, long, int64, c_integer),
    TYPE(MPI_LONG_LONG_INT, long long, int64, c_integer),
    TYPE(MPI_UNSIGNED_CHAR, unsigned char, uint8, c_integer),
    TYPE(MPI_UNSIGNED_SHORT, unsigned short, uint16, c_integer),
    TYPE(MPI_UNSIGNED, unsigned, uint32, c_integer),
    TYPE(MPI_UNSIGNED_LONG, unsigned long, uint64, c_integer),
    TYPE(MPI_UNSIGNED_LONG_LONG, unsigned long long, uint64, c_integer),
    TYPE(MPI_INT8_T, int8_t, int8, c_integer),
    TYPE(MPI_INT16_T, int16_t, int16, c_integer),
    TYPE(MPI_INT32_T, int32_t, int32, c_integer),
    TYPE(MPI_INT64_T, int64_t, int64, c_integer),
    TYPE(MPI_UINT8_T, uint8_t, uint8, c_integer),
    TYPE(MPI_UINT16_T, uint16_t, uint16, c_integer),
    TYPE(MPI_UINT32_T, uint32_t, uint32, c_integer),
    TYPE(MPI_UINT64_T, uint64_t, uint64, c_integer),
    TYPE(MPI_AINT, MPI_Aint, int64, multi_language),
    TYPE(MPI_COUNT, MPI_Count, int64, multi_language),
    TYPE(MPI_OFFSET, MPI_Offset, int64, multi_language),

    TYPE(MPI_INTEGER, int32_t, int32, fortran_integer),
    TYPE(MPI_INTEGER1, int8_t, int8, fortran_integer),
    TYPE(MPI_INTEGER2, int16_t, int16, fortran_integer),
    TYPE(MPI_INTEGER4, int32_t, int32, fortran_integer),
    TYPE(MPI_INTEGER8, int64_t, int64, fortran_integer),
    TYPE(MPI_INTEGER16, __int128, int128, fortran_integer),

    TYPE(MPI_FLOAT, float, float32, floating),
    TYPE(MPI_DOUBLE, double, float64, floating),
    TYPE(MPI_LONG_DOUBLE, long double, float80, floating),
    TYPE(MPI_REAL, float, float32, floating),
    TYPE(MPI_DOUBLE_PRECISION, double, float64, floating),
    TYPE(MPI_REAL2, uint16_t, float16, floating),
    TYPE(MPI_REAL4, float, float32, floating),
    TYPE(MPI_REAL8, double, float64, floating),
    TYPE(MPI_REAL16, memory::Quad, float128, floating),

    TYPE(MPI_C_COMPLEX, std::complex<float>, complex_float32, complex),
    TYPE(MPI_C_DOUBLE_COMPLEX, std::complex<double>, complex_float64, complex),
    TYPE(MPI_C_LONG_DOUBLE_COMPLEX, std::complex<long double>, complex_float80, complex),
    TYPE(MPI_CXX_FLOAT_COMPLEX, std::complex<float>, complex_float32, complex),
    TYPE(MPI_CXX_DOUBLE_COMPLEX, std::complex<double>, complex_float64, complex),
    TYPE(MPI_CXX_LONG_DOUBLE_COMPLEX, std::complex<long double>, complex_float80, complex),
    TYPE(MPI_COMPLEX, std::complex<float>, complex_float32, complex),
    TYPE(MPI_DOUBLE_COMPLEX, std::complex<double>, complex_float64, complex),
    TYPE(MPI_COMPLEX4, uint16_t[2], complex_float16, complex),
    TYPE(MPI_COMPLEX8, std::complex<float>, complex_float32, complex),
    TYPE(MPI_COMPLEX16, std::complex<double>, complex_float64, complex),
    TYPE(MPI_COMPLEX32, memory::Quad[2], complex_float128, complex),

    TYPE(MPI_C_BOOL, bool, boolean, logical),
    TYPE(MPI_CXX_BOOL, bool, boolean, logical),
    TYPE(MPI_LOGICAL, int32_t, logical32, logical),
    TYPE(MPI_LOGICAL1, int8_t, logical8, logical),
    TYPE(MPI_LOGICAL2, int16_t, logical16, logical),
    TYPE(MPI_LOGICAL4, int32_t, logical32, logical),
    TYPE(MPI_LOGICAL8, int64_t, logical64, logical),
    TYPE(MPI_LOGICAL16, __int128, logical128, logical),
};

#undef TYPE
#undef CHARACTER

// A value and an index (6.9.4), laid out as the C structs in memory/element.hpp; both parts are basic types.
struct PairRow {
  MPI_Datatype handle;
  const char* name;
  MPI_Datatype value, index;
  size_t index_offset;
  Element element;
};

#define PAIR(handle, value_type, index_type, pair, element) \
  {handle, #handle, value_type, index_type, offsetof(pair, index), Element::element}

const PairRow kPairTypes[] = {
    PAIR(MPI_FLOAT_INT, MPI_FLOAT, MPI_INT, memory::FloatInt, float_int),
    PAIR(MPI_DOUBLE_INT, MPI_DOUBLE, MPI_INT, memory::DoubleInt, double_int),
    PAIR(MPI_LONG_INT, MPI_LONG, MPI_INT, memory::LongInt, long_int),
    PAIR(MPI_2INT, MPI_INT, MPI_INT, memory::TwoInt, two_int),
    PAIR(MPI_SHORT_INT, MPI_SHORT, MPI_INT, memory::ShortInt, short_int),
    PAIR(MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE, MPI_INT, memory::LongDoubleInt, long_double_int),
    PAIR(MPI_2REAL, MPI_REAL, MPI_REAL, memory::TwoFloat, two_float),
    PAIR(MPI_2DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, memory::TwoDouble, two_double),
    PAIR(MPI_2INTEGER, MPI_INTEGER, MPI_INTEGER, memory::TwoInt, two_int),
};

#undef PAIR

Datatype& made(LayoutRef layout, MPI_Datatype handle, const char* name, Element element, TypeClass type_class) {
  auto* type = new Datatype(std::move(layout), true);
  type->predefined = true;
  type->live_for_ever();
  type->handle = handle;
  type->name = name;
  type->element = element;
  type->type_class = type_class;
  return *type;
}

// Other threads may have it from now on.
void publish(Datatype& type) {
  predefined_types.set(reinterpret_cast<uintptr_t>(type.handle), &type);
}

void make(const Row& row) {
  Datatype& type = made(Layout::dense(static_cast<int64_t>(row.size), static_cast<int64_t>(row.alignment)), row.handle,
                        row.name, row.element, row.type_class);
  // What differs only in what a program means by it has the same signature.
  Element represented = row.element;
  if (represented == Element::boolean) represented = Element::logical8;
  type.signature = Signature::of(static_cast<unsigned>(represented), row.element != Element::byte);
  type.pattern = pattern_of(type, 1);
  publish(type);
}

void make(const PairRow& row) {
  const Datatype& value = *predefined_types.find(reinterpret_cast<uintptr_t>(row.value));
  const Datatype& index = *predefined_types.find(reinterpret_cast<uintptr_t>(row.index));
  LayoutRef fields =
      Layout::sequence({value.layout, index.layout}, {1, 1}, {0, static_cast<int64_t>(row.index_offset)});
  Datatype& type = made(std::move(fields), row.handle, row.name, row.element, TypeClass::pair);
  type.runs = {{&value, 1}, {&index, 1}};
  type.basic_elements = 2;
  type.signature = value.signature.then(index.signature);
  type.pattern = pattern_of(type, 2);
  publish(type);
}

// Never destroyed: derived types may outlive any order of exit.
bool make_predefined_types() {
  for (const Row& row : kBasicTypes) make(row);
  for (const PairRow& row : kPairTypes) make(row);
  return true;
}

}  // namespace

Datatype* first_predefined_type(uintptr_t handle) {
  [[maybe_unused]] static const bool all = make_predefined_types();
  return predefined_types.find(handle);
}

std::string description(const Datatype& type) {
  if (!type.name.empty()) return type.name;
  switch (type.combiner) {
    case MPI_COMBINER_F90_REAL:
      return "a datatype of MPI_Type_create_f90_real";
    case MPI_COMBINER_F90_COMPLEX:
      return "a datatype of MPI_Type_create_f90_complex";
    case MPI_COMBINER_F90_INTEGER:
      return "a datatype of MPI_Type_create_f90_integer";
  }
  return "a derived datatype without a name";
}

namespace {

// Sequences of more basic types have no pattern: to take their number apart would take long.
constexpr uint64_t kLongestWithPattern = uint64_t{1} << 40;

// Of the first `elements` basic elements.
Signature beginning_of(const Datatype& type, uint64_t elements) {
  Signature begun;
  const Datatype* within = &type;
  while (elements > 0) {
    const auto whole = static_cast<uint64_t>(within->basic_elements);
    begun = begun.then(within->signature.times(elements / whole));
    elements %= whole;
    if (elements == 0) break;
    for (const TypeRun& run : within->runs) {
      const auto of_one = static_cast<uint64_t>(run.type->basic_elements);
      const uint64_t of_run = of_one * static_cast<uint64_t>(run.count);
      if (elements >= of_run) {
        begun = begun.then(signature(*run.type, run.count));
        elements -= of_run;
        continue;
      }
      within = run.type;
      break;
    }
  }
  return begun;
}

}  // namespace

// A period of a sequence divides its length, and where two do, so does their greatest common divisor:
// so the prime factors can be tried one after the other.
Pattern pattern_of(const Datatype& type, uint64_t elements) {
  const Signature& whole_type = type.signature;
  if (elements == 0 || !whole_type.exact() || whole_type.length() == 0) return 0;
  if (whole_type.is_uniform()) return beginning_of(type, 1).as_pattern();
  if (elements > kLongestWithPattern) return 0;
  const Signature all = beginning_of(type, elements);
  uint64_t period = elements, left = elements;
  const auto try_without = [&](uint64_t prime) {
    while (period % prime == 0 && beginning_of(type, period / prime).times(elements / (period / prime)) == all)
      period /= prime;
  };
  for (uint64_t prime = 2; prime * prime <= left; ++prime) {
    if (left % prime) continue;
    while (left % prime == 0) left /= prime;
    try_without(prime);
  }
  if (left > 1) try_without(left);
  return beginning_of(type, period).as_pattern();
}

Signature signature(const Datatype& type, int64_t count) {
  return type.signature.times(static_cast<uint64_t>(count));
}

int64_t elements_in(const Datatype& type, int64_t bytes) {
  const int64_t size = type.layout->size();
  if (bytes == 0) return 0;
  if (size == 0) return MPI_UNDEFINED;
  int64_t elements = bytes / size * type.basic_elements;
  int64_t rest = bytes % size;
  // Down into the part that the bytes end in, until that is a basic type.
  for (const Datatype* within = &type; rest > 0;) {
    if (within->runs.empty()) return MPI_UNDEFINED;
    for (const TypeRun& run : within->runs) {
      const int64_t of_run = run.type->layout->size() * run.count;
      if (rest >= of_run) {
        rest -= of_run;
        elements += run.type->basic_elements * run.count;
        continue;
      }
      elements += rest / run.type->layout->size() * run.type->basic_elements;
      rest %= run.type->layout->size();
      within = run.type;
      break;
    }
  }
  return elements;
}

int64_t bytes_of(const Datatype& type, int64_t elements) {
  if (type.basic_elements == 0) return 0;
  int64_t bytes = elements / type.basic_elements * type.layout->size();
  int64_t rest = elements % type.basic_elements;
  for (const Datatype* within = &type; rest > 0;) {
    for (const TypeRun& run : within->runs) {
      const int64_t of_run = run.type->basic_elements * run.count;
      if (rest >= of_run) {
        rest -= of_run;
        bytes += run.type->layout->size() * run.count;
        continue;
      }
      bytes += rest / run.type->basic_elements * run.type->layout->size();
      rest %= run.type->basic_elements;
      within = run.type;
      break;
    }
  }
  return bytes;
}

}  // namespace tutti::mpi
