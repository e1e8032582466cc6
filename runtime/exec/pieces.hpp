// SPDX-License-Identifier: BSD-3-Clause
// Pieces: the copies and reductions of one run. Long ones let other threads in every few microseconds, so that they
// may take several passes of the engine. Owns how far the one that is under way has come: there is but one, and it
// is asked for again until it is done.
#pragma once

#include <cstdint>
#include <utility>

#include "base/engine_owned.hpp"
#include "engine/channel.hpp"
#include "exec/binding.hpp"
#include "memory/movers.hpp"

namespace tutti::exec {

class Pieces {
 public:
  static constexpr int64_t kPiece = 32 << 10;  // bytes
  // Of about a piece or more.
  static bool is_long(int64_t bytes) { return bytes > kPiece / 2; }

  Pieces(const engine::Channel& channel, const Binding& binding) : channel_(channel), binding_(binding) {}

  // A new start begins with its first one.
  void begin() TUTTI_ENGINE_OWNED { done_ = 0; }
  // One is under way, and something of it is done.
  bool are_under_way() const { return done_ > 0; }
  // The latest one that is done was long; once.
  bool was_long() { return std::exchange(was_long_, false); }

  // These do what is left; false: the rest is for a later pass.
  bool copy(const Step& step) TUTTI_ENGINE_OWNED;
  bool reduce(const Step& step) TUTTI_ENGINE_OWNED;
  // left op right into `into`, of so many elements of the call's type.
  bool reduce(const void* left, const void* right, void* into, int64_t count) TUTTI_ENGINE_OWNED;
  bool copy(std::byte* into, const std::byte* from, int64_t bytes) TUTTI_ENGINE_OWNED {
    return each(bytes, kPiece,
                [&](int64_t begin, int64_t length) { memory::copy(into + begin, from + begin, length); });
  }

 private:
  template <class Work>
  bool each(int64_t units, int64_t piece, Work&& work) TUTTI_ENGINE_OWNED {
    while (units - done_ > piece) {
      work(done_, piece);
      done_ += piece;
      if (takes_turns()) return false;
    }
    work(done_, units - done_);
    done_ = 0;
    was_long_ = units > piece / 2;
    return true;
  }

  bool takes_turns() const TUTTI_ENGINE_OWNED;  // the engine's

  const engine::Channel& channel_;
  const Binding& binding_;
  int64_t done_ = 0;  // units of the one that is under way
  bool was_long_ = false;
};

}  // namespace tutti::exec
