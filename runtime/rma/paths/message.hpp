// SPDX-License-Identifier: BSD-3-Clause
// The way of operations and of synchronisation by messages, which serves every target: what this process starts
// (message_origin.cpp), and what it serves to others (message_target.cpp), which is both where the target is itself.
// What an operation means for an epoch it tells the two sides, and asks them; knows none.
//
// Operations of others are served by whoever drives the engine, one after the other: that makes accumulate operations
// atomic. Those of one origin are applied in the order of their starting; between puts and gets there is none. Memory
// of the caller's that an operation uses stays until it is locally complete; layouts are held.
//
// What a call of synchronisation says right behind a short put or accumulate travels in the same message, and so does a lazy
// lock before it: one message of this process is kept until the next one to its rank, or until the next pass of the engine, which
// the progress thread makes where the program stays away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/engine_owned.hpp"
#include "base/result.hpp"
#include "engine/active.hpp"
#include "engine/channel.hpp"
#include "engine/operation.hpp"
#include "engine/wait/poller.hpp"
#include "rma/arithmetic.hpp"
#include "rma/locks.hpp"
#include "rma/operation.hpp"
#include "rma/origin_side.hpp"
#include "rma/paths/message_wire.hpp"
#include "rma/target_side.hpp"

namespace tutti::rma {

class MessagePath;

// One that is looked at later.
struct Message {
  transport::Header header;
  Bytes bytes;
};

// Finds the window that a message is for; one for each process. What comes for a window that others
// have made already, and this process not yet, waits for it.
class Service final : public engine::ActiveHandler {
 public:
  void handle(const transport::Header& header, const std::byte* data) override TUTTI_ENGINE_OWNED;
  void add(uint64_t context, MessagePath& window) TUTTI_ENGINE_OWNED;
  void remove(uint64_t context) TUTTI_ENGINE_OWNED { windows_.erase(context); }
  // A process has failed: what this one has started on the windows that it is a member of ends with an error of this
  // class, wherever it goes, and so does what it starts there from here on.
  void lose(int process, int mpi_class) TUTTI_ENGINE_OWNED;

 private:
  friend class MessagePath;
  std::unordered_map<uint64_t, MessagePath*> windows_ TUTTI_OWNERS;
  std::unordered_map<uint64_t, std::vector<Message>> early_ TUTTI_OWNERS;
  std::unordered_map<int, int> lost_ TUTTI_OWNERS;  // processes, and the class of the error
};

class MessagePath final : public Answers, private engine::Poller {
 public:
  // Of one window. `data`: a channel of the window's own, which nobody receives from with a wildcard; it and the two
  // sides outlive this.
  MessagePath(Service& service, engine::Channel& data, const Arithmetic& arithmetic, OriginSide& origin,
              TargetSide& target);
  ~MessagePath();
  MessagePath(const MessagePath&) = delete;

  // From here on others' operations are served, also those that have come already.
  void open() TUTTI_ENGINE_OWNED { service_.add(data_.context, *this); }
  // Before any operation, where nobody looks on at what comes when: one message may be kept, as told above.
  void may_keep() TUTTI_ENGINE_OWNED { may_keep_ = true; }
  // Likewise: those that this one answers may have the kernel copy its memory, which begins at `base`.
  void tell_memory(const void* base) TUTTI_ENGINE_OWNED { told_memory_ = reinterpret_cast<uintptr_t>(base); }
  // They are not any more, since the program takes back the window's memory though a member has failed, and nobody knows
  // what others still send. What is under way there ends, which TargetSide::is_idle() tells.
  void close() TUTTI_ENGINE_OWNED;

  // ---- operations (WindowEnd says more)

  void put(const Local& origin, const Target& target, Done done) TUTTI_ENGINE_OWNED;
  void get(const Local& origin, const Target& target, Done done) TUTTI_ENGINE_OWNED;
  void update(Update update, const Local& origin, const Local* result, const Target& target,
              Done done) TUTTI_ENGINE_OWNED;
  void compare_and_swap(Update element, const void* origin, const void* compare, void* result,
                        const Target& target) TUTTI_ENGINE_OWNED;

  // ---- synchronisation: what `rank` is told behind the operations before

  void flush(int rank) TUTTI_ENGINE_OWNED { send(rank, WindowMessage::flush); }
  void post(int rank) TUTTI_ENGINE_OWNED { send(rank, WindowMessage::post); }
  void complete(int rank) TUTTI_ENGINE_OWNED { send(rank, WindowMessage::complete); }
  // `lazy`: nobody tells when it is granted.
  void lock(int rank, LockWish wish, bool lazy) TUTTI_ENGINE_OWNED {
    const uint64_t flags = (wish.exclusive ? kExclusive : 0) | (lazy ? kLazy : 0) | (wish.passes ? kPasses : 0);
    if (lazy && may_keep_ && rank != data_.rank)
      keep_lock(rank, flags);
    else
      send(rank, WindowMessage::lock, 0, {}, flags);
  }
  void unlock(int rank) TUTTI_ENGINE_OWNED { send(rank, WindowMessage::unlock); }
  void ask_holders(int rank) TUTTI_ENGINE_OWNED { send(rank, WindowMessage::who); }
  void tell_witness(int rank, const Bytes& bytes) TUTTI_ENGINE_OWNED { send(rank, WindowMessage::witness, 0, bytes); }

 private:
  friend class Service;
  struct Access;   // an operation of mine that waits for something
  struct Serving;  // another's that is under way here
  struct LongUpdate;

  // An update that waits for an earlier one of its origin.
  struct Queued {
    uint32_t serial;
    OperationHead head;
    LayoutRef layout;
    Bytes data;
    bool good;
  };

  // What an origin has sent behind a lock that it has not got yet.
  struct HeldBack {
    bool waits = true;
    std::vector<Message> messages;
  };

  // What waits for the next message to its rank: a lazy lock, an operation, or both.
  struct Kept {
    int rank = kNobody;
    int32_t before = 0;  // of the operation's tag; of a lock alone, its flags
    bool is_operation = false;
    uint32_t serial = 0;
    uint64_t mark = 0;
    Bytes bytes;
  };
  static constexpr int kNobody = -1;

  // message.cpp
  bool waits_for_lock(const transport::Header& header, const std::byte* data) TUTTI_ENGINE_OWNED;
  void take_lock_before(int from, uint64_t flags) TUTTI_ENGINE_OWNED;
  void served(int from, int32_t tag) TUTTI_ENGINE_OWNED;
  void serve_granted() TUTTI_ENGINE_OWNED;
  void handle(const transport::Header& header, const std::byte* data) TUTTI_ENGINE_OWNED;
  void send_failure(int rank, uint32_t serial, const Error& error) TUTTI_ENGINE_OWNED;
  void flushed(int origin) override TUTTI_ENGINE_OWNED {
    emit(origin, tag_of(WindowMessage::flushed), 0, {}, told_memory_);
  }
  void granted(int origin) override TUTTI_ENGINE_OWNED;
  void unlocked(int origin, bool awaited) override TUTTI_ENGINE_OWNED;
  void holders(int origin, const std::vector<int>& ranks) override TUTTI_ENGINE_OWNED;
  void failed(int origin, const Error& error) override TUTTI_ENGINE_OWNED { send_failure(origin, 0, error); }

  // message_origin.cpp
  static constexpr int32_t tag_of(WindowMessage message) { return static_cast<int32_t>(message); }
  void emit(int rank, int32_t tag, uint32_t serial = 0, const Bytes& bytes = {},
            uint64_t signature = 0) TUTTI_ENGINE_OWNED;
  void send(int rank, WindowMessage message, uint32_t serial = 0, const Bytes& bytes = {},
            uint64_t signature = 0) TUTTI_ENGINE_OWNED;
  Access& begin_access(int rank, Done done) TUTTI_ENGINE_OWNED;
  void end_access(Access& access) TUTTI_ENGINE_OWNED;
  void start(int rank, uint32_t serial, const Bytes& message) TUTTI_ENGINE_OWNED;
  void start_unanswered(int rank, uint32_t serial, Bytes message) TUTTI_ENGINE_OWNED;
  void goes(int rank, bool fetches) TUTTI_ENGINE_OWNED;
  void begin_to_keep(int rank) TUTTI_ENGINE_OWNED;
  void keep_lock(int rank, uint64_t flags) TUTTI_ENGINE_OWNED;
  void end_keeping() TUTTI_ENGINE_OWNED;
  void let_go(int32_t beside = 0) TUTTI_ENGINE_OWNED;
  bool poll() override TUTTI_ENGINE_OWNED;
  void expect(Access& access, int64_t piece, Payload into) TUTTI_ENGINE_OWNED;
  void supply(Access& access, int64_t piece, Payload from) TUTTI_ENGINE_OWNED;
  void update_long(Access& access, const Local& origin, const Local* result, const OperationHead& head,
                   const Bytes& layout) TUTTI_ENGINE_OWNED;
  void replied(uint32_t serial, const std::byte* data, int64_t bytes) TUTTI_ENGINE_OWNED;
  void refused(uint32_t serial, Error error) TUTTI_ENGINE_OWNED;
  void give_up(int mpi_class) TUTTI_ENGINE_OWNED;

  // message_target.cpp
  void serve(int origin, uint32_t serial, uint64_t mark, std::span<const std::byte> bytes) TUTTI_ENGINE_OWNED;
  void serve_put(int origin, uint32_t serial, const OperationHead& head, LayoutRef layout, const std::byte* data,
                 bool good) TUTTI_ENGINE_OWNED;
  void serve_get(int origin, uint32_t serial, const OperationHead& head, LayoutRef layout) TUTTI_ENGINE_OWNED;
  void serve_update(int origin, uint32_t serial, const OperationHead& head, LayoutRef layout,
                    std::span<const std::byte> data, bool good) TUTTI_ENGINE_OWNED;
  void apply(int origin, uint32_t serial, const OperationHead& head, const LayoutRef& layout,
             const std::byte* data) TUTTI_ENGINE_OWNED;
  void run_updates(int origin) TUTTI_ENGINE_OWNED;
  void long_update_over(LongUpdate& update) TUTTI_ENGINE_OWNED;
  void end_serving(int origin) TUTTI_ENGINE_OWNED;
  void receive(engine::RecvOperation& from_origin) TUTTI_ENGINE_OWNED;

  Service& service_;
  engine::Channel& data_;
  engine::Engine& engine_;
  const Arithmetic& arithmetic_;
  OriginSide& origin_;
  TargetSide& target_;

  uint32_t last_serial_ TUTTI_OWNERS = 0;
  std::unordered_map<uint32_t, Access*> accesses_ TUTTI_OWNERS;       // that something comes for, by serial
  std::unordered_map<int, std::deque<Queued>> updates_ TUTTI_OWNERS;  // by origin; the first one is under way
  std::unordered_map<int, HeldBack> lazy_ TUTTI_OWNERS;               // by origin, of those whose lock is lazy
  // Origins whose turn has come, one after the other: what one of them has sent may give up the lock for the next one.
  std::vector<int> granted_ TUTTI_OWNERS;
  bool serves_granted_ TUTTI_OWNERS = false;
  bool may_keep_ TUTTI_OWNERS = false;
  uint64_t told_memory_ TUTTI_OWNERS = 0;
  Kept kept_ TUTTI_OWNERS;
  std::unordered_set<engine::RecvOperation*> receiving_ TUTTI_OWNERS;  // data of others, under way to this one's memory
  int given_up_ TUTTI_OWNERS = 0;  // the class of the error, once a member has failed
  bool closed_ TUTTI_OWNERS = false;
};

}  // namespace tutti::rma
