// SPDX-License-Identifier: BSD-3-Clause
// One window at one process, as a protocol (the standard, chapter 12): what its epochs mean, on either side of an
// operation (origin_side.hpp, target_side.hpp), and the ways by which operations and synchronisation go (paths/), of
// which this is where one is chosen. Knows ranks, contexts and layouts; which call may come in which epoch is told by
// epochs.hpp.
#pragma once

#include <span>

#include "base/bytes.hpp"
#include "base/engine_owned.hpp"
#include "engine/channel.hpp"
#include "rma/arithmetic.hpp"
#include "rma/operation.hpp"
#include "rma/origin_side.hpp"
#include "rma/paths/message.hpp"
#include "rma/target_side.hpp"

namespace tutti::rma {

class WindowEnd {
 public:
  // `data`: a channel of the window's own, which nobody receives from with a wildcard; it outlives
  // the window.
  WindowEnd(Service& service, engine::Channel& data, const Arithmetic& arithmetic)
      : target_(data.rank), messages_(service, data, arithmetic, origin_, target_) {}

  OriginSide& origin() { return origin_; }
  const OriginSide& origin() const { return origin_; }
  TargetSide& target() { return target_; }
  const TargetSide& target() const { return target_; }

  // My memory is there: from here on others' operations are served, also those that have come already.
  void open() TUTTI_ENGINE_OWNED { messages_.open(); }

  // ---- operations at others' memory

  void put(const Local& origin, const Target& target, Done done = {}) TUTTI_ENGINE_OWNED {
    messages_.put(origin, target, done);
  }
  void get(const Local& origin, const Target& target, Done done = {}) TUTTI_ENGINE_OWNED {
    messages_.get(origin, target, done);
  }
  // Accumulates. `origin` is read unless the operation is kNoOp; with `result` what was there
  // before is fetched.
  void update(Update update, const Local& origin, const Local* result, const Target& target,
              Done done = {}) TUTTI_ENGINE_OWNED {
    messages_.update(update, origin, result, target, done);
  }
  // One element, dense in memory.
  void compare_and_swap(Update element, const void* origin, const void* compare, void* result,
                        const Target& target) TUTTI_ENGINE_OWNED {
    messages_.compare_and_swap(element, origin, compare, result, target);
  }

  // ---- synchronisation: what the origin side waits for afterwards

  // Asks whether the operations before are complete at the target (kAll: at all), if that is not known.
  void flush(int rank) TUTTI_ENGINE_OWNED;
  // Tells it that it may access my memory.
  void post(int rank) TUTTI_ENGINE_OWNED { messages_.post(rank); }
  // Tells it that my operations are all before this.
  void complete(int rank) TUTTI_ENGINE_OWNED { messages_.complete(rank); }
  void lock(int rank, bool exclusive) TUTTI_ENGINE_OWNED;
  // When my operations there are complete.
  void unlock(int rank) TUTTI_ENGINE_OWNED;
  // Of a lock that is awaited: the processes that hold it or come before, as far as they have been
  // told. The first call asks for it. Empty: not known.
  std::span<const int> holders(int rank) TUTTI_ENGINE_OWNED;
  // What my witness has to say to the one there.
  void tell_witness(int rank, const Bytes& bytes) TUTTI_ENGINE_OWNED { messages_.tell_witness(rank, bytes); }

 private:
  OriginSide origin_;
  TargetSide target_;
  MessagePath messages_;
};

}  // namespace tutti::rma
