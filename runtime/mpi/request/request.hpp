// SPDX-License-Identifier: BSD-3-Clause
// Requests (the standard, section 3.7): started operations of every kind behind one handle, so
// that any mixture of them can be completed together.
#pragma once

#include <atomic>
#include <memory>

#include "base/engine_owned.hpp"
#include "base/pooled.hpp"
#include "engine/matcher.hpp"
#include "life/condition.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/objects.hpp"
#include "mpi/type/datatype.hpp"

namespace tutti::mpi {

// The handle holds one reference; the operation, while it is under way, another. Completed by the
// engine's owner, read by any thread; freed before it is complete by the engine's owner alone.
class Request : public Object {
 public:
  enum class Kind : uint8_t { send, recv, collective, persistent, one_sided, file, generalized, partitioned };

  Request(Kind kind, Comm& comm) : Object(Tag::request), kind(kind), comm(&comm) {}

  bool is_complete() const { return state_.load(std::memory_order_acquire) != State::under_way; }

  // For the operation: it is under way, and it is over. `well`: error() need not be
  // asked. An error of one whose handle is freed ends the job, for nobody else can hear of it.
  // References are counted without atomic additions here: whoever takes or gives up another one
  // between the two owns the engine, too.
  void begin() TUTTI_ENGINE_OWNED {
    retain_unshared();
    ++comm->under_way;
  }
  void finish(bool well = false) TUTTI_ENGINE_OWNED {
    well_ = well;
    interrupted_ = false;
    ++current.completions;
    --comm->under_way;
    if (release_unshared()) [[unlikely]]
      return end_unheard();
    state_.store(State::complete, std::memory_order_release);  // another thread may be done with it now
  }
  // A receive from anybody, when one has failed who might have sent: until it goes on, the calls that complete it say so,
  // and leave it. Its operation stays under way, and may end meanwhile.
  void interrupt() TUTTI_ENGINE_OWNED {
    if (is_complete()) return;
    interrupted_ = true;
    ++current.completions;
    state_.store(State::complete, std::memory_order_release);
  }
  void go_on() TUTTI_ENGINE_OWNED {
    if (!interrupted_) return;
    interrupted_ = false;
    state_.store(State::under_way, std::memory_order_release);
  }
  bool is_interrupted() const { return interrupted_; }
  // A complete request that any number of calls may complete.
  void stays_complete() { state_.store(State::for_ever, std::memory_order_relaxed); }

  // Before a complete request is given out or freed. False: another thread has done that, and the object
  // may be gone. Where only one thread at a time may call MPI nothing is asked.
  bool take() { return !current.concurrent_calls || take_from_others(); }
  // The status of a complete request that stays what it is; false: another thread has taken it.
  bool look(MPI_Status& status);
  // Has that been asked? Of a complete one.
  bool was_looked_at() const { return was_looked_at_.load(std::memory_order_relaxed); }

  // The status of a complete operation, without MPI_ERROR; and its error, if it failed.
  virtual void fill(MPI_Status& status) const = 0;
  virtual Error error() const = 0;
  // The same of one whose handle is freed, asked where the engine is owned, or in the midst of a pass of it: where
  // error() would take the engine to ask other ranks, this one asks nobody.
  virtual Error unheard_error() const TUTTI_ENGINE_OWNED { return error(); }
  bool ended_well() const { return well_ && !watched_; }
  // Whose action it needs to complete, as one term.
  void add_needs(life::Condition& needs) const TUTTI_ENGINE_OWNED {
    is_complete() ? void(needs.always()) : add_open_needs(needs);
  }
  // MPI_Cancel.
  virtual Error cancel() TUTTI_ENGINE_OWNED = 0;
  // Whose error handler hears of its errors.
  virtual HasErrhandler& raises_on() const { return *comm; }

  bool is_persistent() const final { return kind == Kind::persistent; }

  // By which a search knows the operation again (request/live.hpp); 0: none has marked it.
  void set_mark(uint32_t mark) { mark_.store(mark, std::memory_order_relaxed); }
  bool has_mark(uint32_t mark) const { return mark_.load(std::memory_order_relaxed) == mark; }

  // Whether somebody is told of what becomes of it, or of the persistent request that it was started by
  // (request/watch.hpp). Set before the program has the handle, or with the engine owned.
  bool is_watched() const { return watched_; }
  // False: any number of calls share the request.
  bool set_watched() {
    watched_ = state_.load(std::memory_order_relaxed) != State::for_ever;
    return watched_;
  }

  const Kind kind;
  const Ref<Comm> comm;

 protected:
  ~Request() override {
    if (watched_) [[unlikely]]
      forget_watched();
  }

 private:
  [[gnu::cold]] void forget_watched();
  virtual void add_open_needs(life::Condition& needs) const TUTTI_ENGINE_OWNED = 0;  // while it is under way
  bool take_from_others();
  [[gnu::cold]] void end_unheard() TUTTI_ENGINE_OWNED;

  // The memory of requests is pooled: where a program lets two threads complete one request, which is
  // wrong, the slower one still finds State::taken there, and is told.
  enum class State : uint8_t { under_way, complete, looked_at, taken, for_ever };
  std::atomic<State> state_{State::under_way};
  bool well_ = false;
  bool interrupted_ = false;
  std::atomic<bool> was_looked_at_{false};  // says nothing of other memory: relaxed
  bool watched_ = false;           // it has not ended well, either, so that no short way leads past those who watch
  std::atomic<uint32_t> mark_{0};  // two threads that search the same array may set it: any of the two will do
};

// What the slower of two threads is told.
[[gnu::cold]] Error taken_by_another_thread();
// What the calls say of one that is interrupted.
[[gnu::cold]] Error interrupted();

// A message that MPI_Mprobe has taken out of matching (the standard, section 3.8.2).
class Message final : public Object, public Pooled<Message> {
 public:
  Message(std::unique_ptr<engine::Unexpected> taken, Comm& comm)
      : Object(Tag::message), taken(std::move(taken)), comm(&comm) {}
  std::unique_ptr<engine::Unexpected> taken;
  const Ref<Comm> comm;
  // The first of the calls that receive it.
  bool take() { return !current.concurrent_calls || !is_taken_.exchange(true); }

 private:
  std::atomic<bool> is_taken_{false};
};

// Whose action a posted operation needs: that of the receiver, the sender, one of all that may
// send.
void add_needs(life::Condition& needs, const engine::SendOperation& send) TUTTI_ENGINE_OWNED;
void add_needs(life::Condition& needs, const engine::RecvOperation& receive, const Comm& comm) TUTTI_ENGINE_OWNED;
// The same of a probe.
void add_needs_of_source(life::Condition& needs, int source, const Comm& comm);

// What a receive's or a send's outcome says, in the standard's terms.
void fill_status(MPI_Status& status, const engine::Outcome& outcome);
[[gnu::cold]] Error failure_of(const engine::Outcome& outcome);
inline Error error_of(const engine::Outcome& outcome) {
  if (outcome.mpi_class == MPI_SUCCESS) [[likely]]
    return {};
  return failure_of(outcome);
}
// Of a null or inactive request, and of a receive from MPI_PROC_NULL.
void fill_empty(MPI_Status& status);
void fill_proc_null(MPI_Status& status);

}  // namespace tutti::mpi
