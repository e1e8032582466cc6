// SPDX-License-Identifier: BSD-3-Clause
// The kernel's copies between this process and others of the node, those of the own job and those of jobs that this one
// has met there. Of the former the transport in shared memory knows, and tells who sleeps; of the latter, whose messages
// go over the loopback device, this holds by what word each can be known. Owns these.
#pragma once

#include <map>
#include <memory>

#include "base/engine_owned.hpp"
#include "memory/peer_memory.hpp"
#include "transport/peer_copies.hpp"

namespace tutti::transport {

class NodeCopies final : public PeerCopies {
 public:
  // `own`: of the ranks of the own job, and outlives it; nullptr: none. `wanted`: false means that the kernel is not asked.
  NodeCopies(PeerCopies* own, bool wanted) : own_(own), wanted_(wanted) {}

  // A word of this process's own, for those of another job.
  memory::KnownWord known_word() TUTTI_ENGINE_OWNED;
  // `process`, of another job on this node, has said how its memory is known. Again: it changes nothing.
  void add(int process, const memory::KnownWord& word) TUTTI_ENGINE_OWNED {
    others_.try_emplace(process, word, wanted_);
  }
  // It has failed, or its job has ended.
  void forget(int process) TUTTI_ENGINE_OWNED { others_.erase(process); }
  // There is anybody whose memory might be copied.
  bool has_any() const TUTTI_ENGINE_OWNED { return own_ != nullptr || !others_.empty(); }

  bool can_copy(int peer) override TUTTI_ENGINE_OWNED;
  bool read(int peer, uint64_t address, const Payload& into) override TUTTI_ENGINE_OWNED;
  bool write(int peer, uint64_t address, const std::byte* from, int64_t bytes) override TUTTI_ENGINE_OWNED;
  bool hears_late(int peer) override TUTTI_ENGINE_OWNED;

 private:
  struct Other {
    Other(const memory::KnownWord& its_word, bool wanted) : word(its_word), memory(word, wanted) {}
    Other(const Other&) = delete;
    const memory::KnownWord word;
    memory::PeerMemory memory;
  };
  memory::PeerMemory* memory_of(int peer) TUTTI_ENGINE_OWNED;

  PeerCopies* const own_;
  const bool wanted_;
  std::unique_ptr<const uint64_t> shown_ TUTTI_OWNERS;  // nullptr: nobody has asked
  std::map<int, Other> others_ TUTTI_OWNERS;
};

}  // namespace tutti::transport
