// SPDX-License-Identifier: BSD-3-Clause
// Datatypes found by what they can hold: pairs of a value and an index (the standard, 6.9.4), types
// of a class and size (19.1.9), Fortran's types by precision and range (19.1.9). The Fortran
// compiler is taken to be one with IEEE reals of 4, 8 and 16 bytes and integers of up to 16, and with C's long double
// as kind 10 where that has the form of the x87, unless it has said that it is not.
#include <cfloat>
#include <map>
#include <tuple>

#include "base/mutex.hpp"
#include "mpi/object/fortran_abi.hpp"
#include "mpi/type/api_datatype.hpp"

namespace tutti::mpi {

Error type_get_value_index(const Datatype& value_type, const Datatype& index_type, MPI_Datatype* pair_type) {
  static const struct {
    MPI_Datatype value, index, pair;
  } kPairs[] = {
      {MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},      {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
      {MPI_LONG, MPI_INT, MPI_LONG_INT},        {MPI_INT, MPI_INT, MPI_2INT},
      {MPI_SHORT, MPI_INT, MPI_SHORT_INT},      {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
      {MPI_REAL, MPI_REAL, MPI_2REAL},          {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION},
      {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER},
  };
  *pair_type = MPI_DATATYPE_NULL;  // the standard's answer for a pair that there is not
  for (const auto& row : kPairs)
    if (row.value == value_type.handle && row.index == index_type.handle) *pair_type = row.pair;
  return {};
}

Error type_match_size(int typeclass, int size, MPI_Datatype* datatype) {
  static const struct {
    int typeclass, size;
    MPI_Datatype type;
  } kTypes[] = {
      {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},   {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
      {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},   {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
      {MPI_TYPECLASS_INTEGER, 16, MPI_INTEGER16}, {MPI_TYPECLASS_REAL, 2, MPI_REAL2},
      {MPI_TYPECLASS_REAL, 4, MPI_REAL4},         {MPI_TYPECLASS_REAL, 8, MPI_REAL8},
      {MPI_TYPECLASS_REAL, 16, MPI_REAL16},       {MPI_TYPECLASS_COMPLEX, 4, MPI_COMPLEX4},
      {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},   {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16},
      {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32}, {MPIX_TYPECLASS_LOGICAL, 1, MPI_LOGICAL1},
      {MPIX_TYPECLASS_LOGICAL, 2, MPI_LOGICAL2},  {MPIX_TYPECLASS_LOGICAL, 4, MPI_LOGICAL4},
      {MPIX_TYPECLASS_LOGICAL, 8, MPI_LOGICAL8},  {MPIX_TYPECLASS_LOGICAL, 16, MPI_LOGICAL16},
  };
  bool known = false;
  for (const auto& row : kTypes) {
    if (row.typeclass != typeclass) continue;
    known = true;
    if (row.size != size) continue;
    *datatype = row.type;
    return {};
  }
  if (known) return failure(MPI_ERR_ARG, "there is no datatype of {} bytes in this class", size);
  return failure(MPI_ERR_ARG, "typeclass {} is no class of datatypes", typeclass);
}

namespace {

// The datatypes by combiner and arguments. They are never destroyed, because their handles cannot be freed.
struct Parametrized {
  Mutex mutex;
  std::map<std::pair<int, std::vector<int>>, Datatype*> made TUTTI_GUARDED_BY(mutex);
};

// The same arguments always give the same handle, which cannot be freed.
MPI_Datatype parametrized(int combiner, MPI_Datatype model, std::vector<int> arguments) {
  static auto& all = *new Parametrized;
  const Lock lock(all.mutex);
  Datatype*& type = all.made[{combiner, arguments}];
  if (type == nullptr) {
    const Datatype& like = *resolve<Datatype>(model);
    type = new Datatype(like.layout, true);
    type->predefined = true;
    type->live_for_ever();
    type->element = like.element;
    type->type_class = like.type_class;
    type->signature = like.signature;
    type->pattern = like.pattern;
    type->combiner = combiner;
    type->integers = std::move(arguments);
  }
  return type->handle;
}

struct Precision {
  int kind, digits, range;
  MPI_Datatype real, complex;
};
const Precision kReals[] = {{4, 6, 37, MPI_REAL4, MPI_COMPLEX8},
                            {8, 15, 307, MPI_REAL8, MPI_COMPLEX16},
                            {10, 18, 4931, MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX},
                            {16, 33, 4931, MPI_REAL16, MPI_COMPLEX32}};

// gfortran and flang have kind 10 on x86, ifx has not: selected_real_kind(18) is 10 for those and 16 for this, in
// variables of the same length. In a program without Fortran it is as gfortran has it.
bool has_kind_10() {
  return LDBL_MANT_DIG == 64 && fortran_abi("tutti_real10_supported").value_or("true") == "true";
}

// MPI_UNDEFINED leaves one of both open.
const Precision* find_precision(int p, int r) {
  for (const Precision& real : kReals)
    if ((p == MPI_UNDEFINED || p <= real.digits) && (r == MPI_UNDEFINED || r <= real.range) &&
        (real.kind != 10 || has_kind_10()))
      return &real;
  return nullptr;
}

Error no_such_real(int p, int r) {
  if (r == MPI_UNDEFINED) return failure(MPI_ERR_ARG, "no type has {} decimal digits", p);
  if (p == MPI_UNDEFINED) return failure(MPI_ERR_ARG, "no type has a decimal exponent range of {}", r);
  return failure(MPI_ERR_ARG, "no type has {} decimal digits and a decimal exponent range of {}", p, r);
}

Error floating(int combiner, int p, int r, MPI_Datatype Precision::* type, MPI_Datatype* newtype) {
  if (p == MPI_UNDEFINED && r == MPI_UNDEFINED) return failure(MPI_ERR_ARG, "both p and r are MPI_UNDEFINED");
  const Precision* found = find_precision(p, r);
  if (!found) return no_such_real(p, r);
  *newtype = parametrized(combiner, found->*type, {p, r});
  return {};
}

}  // namespace

Error type_create_f90_real(int p, int r, MPI_Datatype* newtype) {
  return floating(MPI_COMBINER_F90_REAL, p, r, &Precision::real, newtype);
}

Error type_create_f90_complex(int p, int r, MPI_Datatype* newtype) {
  return floating(MPI_COMBINER_F90_COMPLEX, p, r, &Precision::complex, newtype);
}

Error type_create_f90_integer(int r, MPI_Datatype* newtype) {
  static const std::pair<int, MPI_Datatype> kIntegers[] = {
      {2, MPI_INTEGER1}, {4, MPI_INTEGER2}, {9, MPI_INTEGER4}, {18, MPI_INTEGER8}, {38, MPI_INTEGER16}};
  for (const auto& [range, type] : kIntegers)
    if (r <= range) {
      *newtype = parametrized(MPI_COMBINER_F90_INTEGER, type, {r});
      return {};
    }
  return failure(MPI_ERR_ARG, "no integer type has a decimal range of {}", r);
}

}  // namespace tutti::mpi
