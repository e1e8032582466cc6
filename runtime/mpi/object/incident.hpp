// SPDX-License-Identifier: BSD-3-Clause
// Where in a program something happened, and what is said below an error that ends the job: the
// call with its arguments and communicator, its place in the source, and where the objects come
// from. Places are looked up only then, for it takes another process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/os/source_place.hpp"
#include "mpi/object/objects.hpp"

namespace tutti::mpi {

class HasErrhandler;

// A call of MPI: which function, and where it returns to.
struct CallSite {
  uint16_t function = 0;
  uint64_t caller = 0;  // 0: unknown
};

// The call that this thread is in, as far as it is known.
CallSite here();
// For calls that the flight record does not know.
void set_here(CallSite place);

// More that is to be said below the error that this thread is about to raise. Entry points take it.
struct Mention {
  std::string text;  // "the datatype was made by"
  CallSite place;
  // Instead of the place: a call with its arguments, perhaps another process'.
  std::string call = {};
  CodeAddress address = {};
};
std::vector<Mention>& mentions();

// "MPI_Type_vector at solver.c:42, in main()", one for each.
std::vector<std::string> place_texts(const std::vector<CallSite>& places);

// The lines below an error that is raised on `on` (nullptr: on none in particular).
std::vector<std::string> story_of(CallSite place, const HasErrhandler* on, std::vector<Mention> mentions);

}  // namespace tutti::mpi
