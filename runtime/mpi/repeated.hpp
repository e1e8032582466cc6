// SPDX-License-Identifier: BSD-3-Clause
// The blocking collectives that a program makes over and over. A call that is like one of the
// communicator's latest in all but its buffers needs nothing looked up: its execution is kept here,
// signature, plan and all, and takes the buffers. Only for calls on predefined types and
// operations, which nobody can free meanwhile.
#pragma once

#include <array>
#include <memory>

#include "coll/execution.hpp"
#include "mpi/op.hpp"

namespace tutti::mpi {

// What calls that are alike have in common.
struct Likeness {
  coll::Collective kind = coll::Collective::barrier;
  bool in_place = false;
  int root = 0;
  const Op* op = nullptr;
  const Datatype* in_type = nullptr;
  const Datatype* out_type = nullptr;
  int64_t in_count = 0, out_count = 0;

  bool operator==(const Likeness&) const = default;
  bool may_be_kept() const {
    return (!op || op->predefined) && (!in_type || in_type->predefined) &&
           (!out_type || out_type->predefined);
  }
};

// Used with the engine owned.
class Repeated {
 public:
  // An idle execution for such a call; nullptr: there is none.
  coll::Execution* find(const Likeness& call) {
    if (!places_) return nullptr;
    Place& place = place_of(call);
    if (!place.execution || !(place.call == call) || place.execution->running()) return nullptr;
    place.patience = kPatience;
    return place.execution.get();
  }
  // Takes one that is over, unless its place belongs to another call that comes often.
  bool keep(const Likeness& call, std::unique_ptr<coll::Execution>& execution) {
    if (!places_) places_ = std::make_unique<std::array<Place, 1 << kBits>>();
    Place& place = place_of(call);
    if (!call.may_be_kept() || execution->memory() > kMostMemory ||
        (place.execution && (place.execution->running() || --place.patience > 0)))
      return false;
    place = {call, std::move(execution), kPatience};
    return true;
  }

 private:
  static constexpr int kPatience = 8, kBits = 4;
  static constexpr size_t kMostMemory = 8 << 10;
  struct Place {
    Likeness call;
    std::unique_ptr<coll::Execution> execution;
    int patience = 0;
  };
  Place& place_of(const Likeness& call) {
    const uint64_t h = (static_cast<uint64_t>(call.kind) + static_cast<uint64_t>(call.root) * 31 +
                        static_cast<uint64_t>(call.out_count + call.in_count) * 127) *
                       0x9e3779b97f4a7c15u;
    return (*places_)[h >> (64 - kBits)];
  }

  std::unique_ptr<std::array<Place, 1 << kBits>> places_;  // from the first call on
};

}  // namespace tutti::mpi
