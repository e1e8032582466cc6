// SPDX-License-Identifier: BSD-3-Clause
// What --check=strict looks at in each call, beside what is always checked: buffers of operations
// under way that share bytes, wildcard receives that more than one message could have matched, and
// whatever MPI_Finalize shall find left over. Nothing of it exists at other levels.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "base/engine_owned.hpp"
#include "base/mutex.hpp"
#include "base/os/source_place.hpp"
#include "contract/notes.hpp"
#include "mpi/check/outstanding.hpp"
#include "mpi/check/steady.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/object/entry_guard.hpp"
#include "mpi/object/watcher.hpp"
#include "mpi/request/request.hpp"

namespace tutti::mpi {

// Memory that others access by operations on a window. Any thread.
class Exposed {
 public:
  // A call of this rank is about to use these bytes; an error if others do as well.
  virtual Error touches(const BufferUse& use) = 0;

 protected:
  ~Exposed() = default;
};

class Strict final : public Watcher {
 public:
  explicit Strict(bool report_only) : report_only_(report_only) {}

  // ---- buffers. The error is that of the call, unless findings are only to be reported.

  Error take(const void* owner, std::span<const BufferUse> uses);
  // The same of what else is found in a call: with all that this thread has mentioned, once for each
  // place in the program.
  Error found(Error error) override;
  Outstanding& outstanding() { return outstanding_; }
  // What operations under way read. With the engine owned, or before the program has the request: what the call reads
  // stays as it is until the program completes `request`, and so do the arrays.
  Steady& steady() { return steady_; }
  void keep(Request& request, std::span<const BufferUse> uses, const SentWords& words);
  void keep(Request& request, SteadyArrays arrays);
  Error judges(const void* operation) override { return found(steady_.judge(operation)); }
  void add(Exposed& memory);
  void remove(Exposed& memory);

  // Of all copies (sent_copy.hpp).
  std::atomic<int64_t> bytes_copied = 0;

  // ---- reductions: "MPI_SUM on MPI_CHAR", which the standard does not define. Any thread.
  void computes_undefined(std::string what) override;
  void returns_error_of_file(int error_class, std::string_view text, CallSite place) override;
  void sets_handler_of_file() override { handles_errors_of_files_.store(true, std::memory_order_relaxed); }
  void asks_of_error() override;
  void tells_of_end(const void* operation) override {
    outstanding_.drop(operation);
    steady_.end(operation);
  }

  // ---- messages; with the engine owned

  // This rank is about to send, or does what may tell others how far it has come.
  void sends(const Comm& comm, int dest, int tag) TUTTI_ENGINE_OWNED;
  void acts() override TUTTI_ENGINE_OWNED {
    ++acts_;
    if (!calling_thread.tells_nobody) told_.fetch_add(1, std::memory_order_relaxed);
  }
  // How often it has done what others may have heard of: while this stays, nobody knows what it has done meanwhile.
  uint64_t told() const { return told_.load(std::memory_order_relaxed); }
  // What messages of ready sends name as their signature.
  static constexpr uint64_t kReady = 1;
  // A receive or a probe is about to look among the messages that are there.
  void looks(const Comm& comm, int source, int tag) TUTTI_ENGINE_OWNED;
  // A blocking receive that wanted `source` and `tag` has got a message.
  void received(const Comm& comm, int source, int tag, const engine::Outcome& outcome) TUTTI_ENGINE_OWNED;
  // So has one with a request that wanted any source, and was posted at `place`.
  void received_any(const Comm& comm, int tag, const engine::Outcome& outcome, CallSite place) TUTTI_ENGINE_OWNED;

  // ---- what this process can know of others. Any thread.

  // It comes to a call that no process leaves before all have come; it has left it, which has this number in all of them.
  void comes() { updates_when_come_.store(updates_.load(std::memory_order_relaxed), std::memory_order_relaxed); }
  void leaves(uint32_t barrier);
  // Another one changes memory of a window here, by which it may tell the program something without a call.
  void is_updated() {
    updates_.fetch_add(1);
    left_.store(0);
  }
  // That call, if it can have heard of nobody since then; 0: it may have.
  uint32_t knows_nothing_since() const;
  // Something may order the accesses of ranks without a call that tells of it.
  void orders_unseen() { orders_unseen_.store(true, std::memory_order_relaxed); }

  // ---- what else is told at MPI_Finalize. Any thread.

  // Operations of two ranks on a window that no call orders, and the calls.
  struct Unordered {
    struct Call {
      uint16_t function = 0;
      CodeAddress address;
    };
    std::string sentence;
    Call calls[2];
  };
  void tells_at_end(Unordered found);

  // A note that is known already. `detail`: as contract::Notes wants it.
  void tells_at_end(contract::NoteKind kind, CallSite place, std::string detail = "");

  // ---- at MPI_Finalize

  // How many messages of a sender nobody has received.
  struct Unreceived {
    uint64_t context;
    int32_t tag;
    int32_t count;
  };
  // Mine that `receiver` has not received, with the places where they were sent.
  void note_unreceived(int receiver, const Unreceived& left, contract::Notes& notes) TUTTI_ENGINE_OWNED;
  void note_races(contract::Notes& notes);
  void note_unready(contract::Notes& notes);
  void note_others(contract::Notes& notes);

 private:
  using Stream = std::tuple<uint64_t, int, int>;  // context, process, tag: received in order
  struct Sent {
    uint64_t count = 0;
    std::array<CallSite, 8> latest;
  };
  void race(CallSite place, std::vector<int> ranks, const Comm& comm) TUTTI_ENGINE_OWNED;
  void compare_with_latest(const Comm& comm, const engine::Outcome& outcome) TUTTI_ENGINE_OWNED;

  const bool report_only_;
  Outstanding outstanding_;
  Steady steady_;
  Mutex exposed_mutex_;
  std::vector<Exposed*> exposed_ TUTTI_GUARDED_BY(exposed_mutex_);
  Mutex reported_mutex_;
  std::set<std::pair<uint64_t, uint64_t>> reported_ TUTTI_GUARDED_BY(reported_mutex_);  // overlaps: callers

  std::map<Stream, Sent> sent_;
  uint64_t acts_ = 0;
  std::atomic<uint64_t> told_ = 0;  // counts for whoever reads it in the same thread: no order is wanted
  // The latest receive with a wildcard that has got a message, whose sender has not heard of it.
  struct {
    uint64_t context = 0;  // 0: none
    int tag = 0, got = 0;
    uint64_t acts = 0;
    CallSite place;
  } latest_;
  struct Race {
    CallSite place;
    std::vector<int> ranks;
    std::string comm;
  };
  std::map<uint64_t, Race> races_;                                // by caller
  std::map<uint64_t, std::pair<CallSite, std::string>> unready_;  // by caller: whose message it was
  Mutex others_mutex_;
  std::map<std::string, CallSite> undefined_ TUTTI_GUARDED_BY(others_mutex_);  // where each was first
  // By caller: the first one's sentence, and how many.
  struct ErrorsOfFile {
    CallSite place;
    std::string sentence;
    int count = 0;
  };
  std::map<uint64_t, ErrorsOfFile> file_errors_ TUTTI_GUARDED_BY(others_mutex_);
  std::atomic<bool> handles_errors_of_files_ = false;  // whoever sets a handler looks; orders nothing
  contract::Notes known_ TUTTI_GUARDED_BY(others_mutex_);
  std::vector<Unordered> unordered_ TUTTI_GUARDED_BY(others_mutex_);
  // Of a thread that reads what it has written itself: where several call MPI nothing is said. They order nothing.
  std::atomic<uint32_t> left_ = 0;
  std::atomic<uint64_t> calls_when_left_ = 0, updates_ = 0, updates_when_come_ = 0;
  std::atomic<bool> orders_unseen_ = false;
};

// This thread is in a call that nobody can hear of before it has heard of all others that they are in it as well.
class TellsNobody {
 public:
  TellsNobody() { calling_thread.tells_nobody = true; }
  ~TellsNobody() { calling_thread.tells_nobody = false; }
  TellsNobody(const TellsNobody&) = delete;
};

// nullptr but under --check=strict. Written once, before MPI_Init returns.
inline Strict* strict = nullptr;
void open_strict(bool report_only);

// At MPI_Finalize, when all ranks are there: tells what is left over, once for the job. `own_too`: also what this
// process has, which may be of sessions that go on.
Error tell_left_over(bool own_too);

}  // namespace tutti::mpi
