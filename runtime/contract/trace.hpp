// SPDX-License-Identifier: BSD-3-Clause
// Where a message comes from: its receiver asks its sender, which looks for the call in its flight
// record. A call is recognised by where the message went and by what was sent; of several that are
// alike it is the latest, and one that is too long ago is not found. For reports alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "base/bytes.hpp"
#include "base/engine_owned.hpp"
#include "base/flight.hpp"
#include "contract/report.hpp"

namespace tutti::engine {
class Engine;
}

namespace tutti::contract {

// A message on a user's channel as its receiver knows it.
struct Sent {
  uint64_t context = 0;
  int64_t bytes = 0;
  int32_t process = -1;  // its sender
  int32_t dest = -1;     // the receiver's rank in the communicator
  int32_t tag = 0;
  uint16_t pattern = 0;  // transport::Header's
};

// May this call have sent so many bytes of types with this pattern? 0: no; 1: nobody knows; 2: they are
// what it names.
using MayHaveSent = int (*)(const flight::CallRecord& call, int64_t bytes, uint16_t pattern);

class Trace {
 public:
  // `tell(process, answers, number, bytes)`: to the same object of that process, perhaps this one.
  using Tell = std::function<void(int process, bool answers, uint32_t number, std::string bytes)>;
  Trace(engine::Engine& engine, MayHaveSent may_have_sent, Tell tell)
      : engine_(engine), may_have_sent_(may_have_sent), tell_(std::move(tell)) {}

  // Asks; the answer is kept under the number until it is taken.
  uint32_t ask(const Sent& sent) TUTTI_ENGINE_OWNED;
  bool is_answered(uint32_t number) const TUTTI_ENGINE_OWNED;
  // Side::status is `started` where the call was found; `silent` where nothing has been answered.
  Side take(uint32_t number) TUTTI_ENGINE_OWNED;
  // All three, within a second. Of a call of the program.
  Side find(const Sent& sent) TUTTI_ENGINE_OWNED;

  void question(int from, uint32_t number, std::span<const std::byte> bytes) TUTTI_ENGINE_OWNED;
  void answer(uint32_t number, std::span<const std::byte> bytes) TUTTI_ENGINE_OWNED;

 private:
  engine::Engine& engine_;
  const MayHaveSent may_have_sent_;
  const Tell tell_;
  uint32_t last_ TUTTI_OWNERS = 0;
  std::map<uint32_t, Side> answers_ TUTTI_OWNERS;  // to questions that are open
};

// The latest call of this process that has received, or wants to receive, into elements of this type
// from that source with that tag, as the call named them; state `none`: it is not found.
flight::CallRecord receiving_call(uint64_t context, int source, int tag, uint64_t type);

}  // namespace tutti::contract
