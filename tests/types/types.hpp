// SPDX-License-Identifier: BSD-3-Clause
// Datatypes of a test, by handle and by scope.
#pragma once

#include <gtest/gtest.h>

#include "mpi/type/api_datatype.hpp"
#include "mpi/type/datatype.hpp"

namespace tutti::mpi {

inline Datatype& of(MPI_Datatype handle) {
  return *resolve<Datatype>(handle);
}

// A handle that is freed at the end.
struct Type {
  Type() = default;
  Type(const Type&) = delete;
  ~Type() {
    if (handle != MPI_DATATYPE_NULL) {
      EXPECT_FALSE(type_free(&handle));
    }
  }
  MPI_Datatype* operator&() { return &handle; }
  Datatype& operator*() const { return of(handle); }
  Datatype* operator->() const { return &of(handle); }
  MPI_Datatype handle = MPI_DATATYPE_NULL;
};

}  // namespace tutti::mpi
