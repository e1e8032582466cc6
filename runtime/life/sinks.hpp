// SPDX-License-Identifier: BSD-3-Clause
// Who hears of events: one list of sinks, which layers above register. As a rule nobody listens, and then an event
// costs one look at a word that does not change: no call, no allocation, no clock. A sink hears and decides nothing;
// who may refuse a call, as --check=strict does, is asked by the call itself.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/engine_owned.hpp"
#include "life/event.hpp"

namespace tutti::life {

// A bit for each happening.
using Happenings = uint32_t;
constexpr Happenings bit(Happening what) {
  return Happenings{1} << static_cast<unsigned>(what);
}
inline constexpr Happenings kEvery = (Happenings{1} << kHappenings) - 1;
class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;

  // From now on it hears of these, and of no others. Any thread; the engine's owner may still be telling it of what it
  // has ceased to listen to. Once it has listened it lives as long as the process.
  void listen(Happenings what);

 protected:
  ~Sink() = default;

 private:
  friend void tell(const Event& event);
  virtual void hears(const Event& event) TUTTI_ENGINE_OWNED = 0;

  std::atomic<Happenings> wanted_{0};  // relaxed: it says nothing of other memory, which a sink guards by itself
  bool is_listed_ = false;
  Sink* next_ = nullptr;
};

namespace inside {
inline constinit std::atomic<Happenings> wanted{0};  // by any sink; relaxed, as a sink's own
}

// Does anybody listen, to any of several?
inline bool are_wanted(Happenings any_of) {
  return (inside::wanted.load(std::memory_order_relaxed) & any_of) != 0;
}
inline bool is_wanted(Happening what) {
  return are_wanted(bit(what));
}
[[gnu::cold]] void tell(const Event& event) TUTTI_ENGINE_OWNED;

}  // namespace tutti::life
