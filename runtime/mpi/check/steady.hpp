// SPDX-License-Identifier: BSD-3-Clause
// What operations under way only read, and the program therefore leaves as it is until they are complete, under
// --check=strict: their buffers, of which copies are compared (sent_copy.hpp), and the arrays of counts and displacements
// of collectives (the standard, 6.12 and 6.13). Refuses arrays of datatypes: from Fortran they come converted, in memory
// that ends with the call. Any thread.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "base/ints.hpp"
#include "base/mutex.hpp"
#include "base/result.hpp"
#include "coll/call.hpp"
#include "mpi/check/sent_copy.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/object/incident.hpp"

namespace tutti::mpi {

// Arrays of numbers, and what they held when they were given.
class SteadyArrays {
 public:
  // Those of a call that are significant at this rank, by the standard's names.
  void add_of(const coll::Call& call, const Comm& comm);
  bool empty() const { return arrays_.empty(); }
  // An error of what has changed since. `until`: what the sentence says of how long they have to stay.
  Error judge(const char* until) const;

 private:
  void add(const char* argument, const Ints& numbers, int length);

  struct Array {
    const char* argument;
    Ints numbers;
    std::vector<std::byte> held;
  };
  std::vector<Array> arrays_;
};

class Steady {
 public:
  // What `owner`, an operation, reads of the program's until it is complete. `started`: its call, where the error shall
  // name it.
  void keep(const void* owner, std::unique_ptr<SentCopy> copy, CallSite started = {});
  void keep(const void* owner, SteadyArrays arrays);
  // The program hears that the operation is complete, whose memory is the program's again: what has changed meanwhile,
  // which later calls say again.
  Error judge(const void* owner);
  // It hears so in a call that has no error to give.
  void end(const void* owner);
  void drop(const void* owner);

 private:
  struct Kept {
    std::vector<std::unique_ptr<SentCopy>> copies;
    SteadyArrays arrays;
    CallSite started;
    bool judged = false;
    Error found;
  };
  static void judge(Kept& kept);

  Mutex mutex_;
  std::unordered_map<const void*, Kept> of_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::mpi
