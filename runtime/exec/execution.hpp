// SPDX-License-Identifier: BSD-3-Clause
// Execution: a plan bound to the buffers of one call, and the run of it. One plan has three lives:
// prepare (bind: the persistent form), start (post: the nonblocking form), run (start and wait: the
// blocking form). An execution resumes when one of its messages is done, or a flag that it awaits
// is raised, and never blocks; it runs wherever the engine is being driven.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "contract/ledger.hpp"
#include "engine/channel.hpp"
#include "exec/planner.hpp"

namespace tutti::coll {

class Execution final : private engine::Poller, private engine::UnderWay {
 public:
  // Called once for each start, with the engine owned, perhaps before start() returns. The
  // execution is not touched after it: it may be started again or destroyed there. nullptr: nothing
  // is called.
  void (*on_complete)(Execution&) = nullptr;
  void* owner = nullptr;  // for on_complete's use
  int mpi_class = 0;      // of the first error (MPI_ERR_TRUNCATE, …); set when complete

  ~Execution();  // not while it runs
  Execution(const Execution&) = delete;

  // Ends it before its time, with this error: nothing new is posted, what can be withdrawn is, and
  // on_complete is called when the rest has come back. Only while it runs; the engine is owned.
  void abandon(int error_class);

  // Goes on after its communicator's ledger was disturbed; meanwhile it stands still.
  void resume();

  bool running() const { return active_; }
  // For a call that is like the last one in all but its buffers. Not while it runs.
  void rebind(const void* in, void* out) {
    call_.in = in;
    call_.out = out;
    take_buffers();
  }
  // The same of arrays that say the same; where the call has none, it is not given any.
  void rebind_arrays(Ints in_counts, Ints in_displacements, Ints out_counts, Ints out_displacements) {
    if (call_.in_counts) call_.in_counts = in_counts;
    if (call_.in_displacements) call_.in_displacements = in_displacements;
    if (call_.out_counts) call_.out_counts = out_counts;
    if (call_.out_displacements) call_.out_displacements = out_displacements;
  }
  // Makes the w form's arrays of types its own: the call's end before the execution does.
  void own_types();
  // The same of the arrays of counts and displacements, which steps read when their turn comes: of a
  // call that may return before they have.
  void own_arrays();
  // Bytes that it takes while it is kept: with its scratch, and with its plan, which others may have, too.
  size_t footprint() const {
    // NOLINTNEXTLINE(bugprone-sizeof-expression): some are lists of pointers
    const auto bytes_of = []<class T>(const std::vector<T>& list) { return list.capacity() * sizeof(T); };
    return sizeof *this + capacity_ + plan_bytes_ + bytes_of(layouts_) + bytes_of(types_) + bytes_of(numbers_);
  }
  // Adds the calls at other ranks whose messages it cannot go on without, side by side; nothing if
  // it does not run. The engine is owned.
  void add_needs(engine::Condition& needs) const;
  uint32_t serial() const { return serial_; }  // of the latest start
  const Call& call() const { return call_; }
  const Plan& plan() const { return *plan_; }
  engine::Channel& channel() const { return channel_; }

 private:
  friend Result<std::unique_ptr<Execution>> prepare(engine::Channel&, Planner&, const Call&);
  friend Result<std::unique_ptr<Execution>> prepare_anew(engine::Channel&, Planner&, const Call&);
  friend void start(Execution&);
  friend void run(Execution&);
  friend void keep(Planner&, std::unique_ptr<Execution>);
  struct BoundSend;
  struct BoundRecv;
  // An end of a copy, or an operand: `offset` bytes from where its region begins.
  struct End {
    int64_t offset = 0;
    int32_t rank = 0;  // shared: whose slot, in which of the plan's rounds
    uint32_t round = 0;
    Region region = Region::input;
    bool operator==(const End&) const = default;
  };
  // A program's step, with all that is known of it once the buffers' layouts are.
  struct BoundStep {
    End from, into;
    End right;           // of a reduction
    int64_t length = 0;  // of a copy or a block in bytes, of a reduction in elements; publish: of what is shown
    uint64_t word = 0;   // show, take: the signature of the call and the block
    uint32_t slot = 0;   // the round
    int32_t peer = -1;
    Step::Kind kind = Step::Kind::join;
    bool direct = false;   // of a copy: from and into are all that is needed
    bool is_long = false;  // copy, reduce: of about a piece or more
    bool shows = false;    // of a short direct copy: into a slot
    bool fits = false;     // show, expect, take: the block in its share
    bool beside = false;   // await: the next step takes what should come as a message
  };

  Execution(engine::Channel& channel, std::shared_ptr<const Plan> plan, const Call& call);
  Error bind(const Call& call);
  void take_buffers() {
    begins_[static_cast<size_t>(Region::input)] = reinterpret_cast<uintptr_t>(call_.in);
    begins_[static_cast<size_t>(Region::output)] = reinterpret_cast<uintptr_t>(call_.out);
  }
  void bind_steps();
  void bind_copy(const Step& step, BoundStep& bound) const;
  void bind_block(const Step& step, BoundStep& bound) const;
  void bind_reduce(const Step& step, BoundStep& bound, BoundStep* before) const;
  End end_at(const Buf& buf, const void* first) const;
  std::byte* at(const End& end) const;
  void* home(const Buf& buf) const;
  Payload resolve(const Buf& buf) const;
  Payload packed_whole(const Buf& user) const;
  Payload range(const Buf& buf) const;
  Payload block(Region region, uint32_t i) const;
  // What came may be of another call: nothing is made of it, or passed on, before that is known.
  bool is_disturbed() const { return channel_.ledger && channel_.ledger->disturbed(); }
  bool waits_for_application(Step::Kind kind) const {
    return kind == Step::Kind::reduce && call_.reduction.on_application_threads && channel_.engine->helper_drives();
  }
  void begin();
  engine::Pollers& late() const { return channel_.late[plan_->lane == Lane::large]; }
  void admit_late();
  void over();
  bool poll() override;
  bool awaits(engine::Match& what) const override;
  bool execute();
  bool lingers();
  bool go_on();
  bool share(const Step& step);
  void stall(uint32_t step);
  void keep_polling();
  void leave_lists();
  void add_needs_in_lane(engine::Condition& needs) const;
  bool may_write(uint32_t round);
  bool is_there(uint32_t round, int peer);
  bool is_raised(uint32_t round, int peer);
  void leave(uint32_t round);
  // Long copies and reductions let other threads in every few microseconds. False: the rest is for a
  // later pass.
  static constexpr int64_t kPiece = 32 << 10;
  template <class Work>
  bool in_pieces(int64_t units, int64_t piece, Work&& work) {
    while (units - done_ > piece) {
      work(done_, piece);
      done_ += piece;
      if (channel_.engine->takes_turns()) return false;
    }
    work(done_, units - done_);
    done_ = 0;
    was_long_ = units > piece / 2;
    return true;
  }
  bool copy(const Step& step);
  bool copy_long(const BoundStep& step);
  bool apply(const void* left, const void* right, void* into, int64_t count);
  void show(const BoundStep& step);
  void send_beside(const BoundStep& step);
  void expect(const BoundStep& step);
  void withdraw_receive(uint32_t operation);
  bool has_come(const BoundStep& step) const;
  void take(const BoundStep& step);
  void take_other(const BoundStep& step, const ShareHead& head);
  void take_beside(const BoundStep& step);
  void take_from_share(const BoundStep& step, int64_t bytes);
  void end_program();
  const Step& step_of(const BoundStep& bound) const { return plan_->steps[static_cast<size_t>(&bound - bound_)]; }
  bool reduce(const Step& step);
  void run_ready();
  bool perform(uint32_t step);
  void post_send(uint32_t step);
  void post_send(uint32_t step, const Payload& payload, uint64_t signature);
  void post_recv(uint32_t step);
  void step_done(uint32_t step);
  void message_done(const engine::Operation& operation, uint32_t step);
  uint64_t signature_of(const Buf& buf) const;
  void compare(const BoundRecv& receive);

  engine::Channel& channel_;
  std::shared_ptr<const Plan> plan_;
  Call call_;
  // One block of memory holds what the steps need, and the scratch.
  std::byte* memory_ = nullptr;
  BoundSend* sends_ = nullptr;
  BoundRecv* recvs_ = nullptr;
  void** scratch_ = nullptr;    // where element 0 would begin
  BoundStep* bound_ = nullptr;  // by step of a program
  uint32_t* waits_ = nullptr;   // by step: for how many others it still waits
  uint32_t* ready_ = nullptr;   // every step enters this queue once
  uint32_t ready_begin_ = 0, ready_end_ = 0;
  uintptr_t begins_[3] = {};  // by region: where the input and the output begin; scratch: 0
  size_t capacity_ = 0;       // of memory_
  const size_t plan_bytes_;
  uint32_t left_ = 0;  // steps to go
  uint32_t serial_ = 0;
  uint64_t history_ = 0;   // the ledger's, of the calls before
  uint32_t messages_ = 0;  // posted and not done
  transport::Lane* lane_ = nullptr;
  // Of a program: the steps before it are done. Else the step that waits in shared memory, or none.
  uint32_t next_ = 0;
  static constexpr uint32_t kNoStep = UINT32_MAX;
  uint32_t first_round_ = 0;  // in the lane, of the latest start
  unsigned looked_ = 0;       // at a flag, instead of a message
  int awaited_ = 0;           // of the ranks that the next step awaits, those before are there
  uint64_t lingered_ = 0;     // passes to go, and one
  bool late_ = false;         // waits for its turn
  bool waited_ = false;       // what it awaits was not there when it looked first
  int64_t done_ = 0;          // units of the step that in_pieces() has left
  bool was_long_ = false;     // the latest step that it has completed
  bool polled_ = false;       // in the engine's list
  bool floods_ = false;       // what all ranks get is more than their caches are likely to hold
  bool performing_ = false;   // at work: what becomes ready joins the queue, and the end comes later
  bool abandoned_ = false;
  bool active_ = false;
  // Run by an application thread, when a user's function is to be called.
  struct Resumption : engine::Engine::Chore {
    Execution* execution = nullptr;
  } resumption_;
  bool resumes_ = false;                // it is the engine's now
  std::vector<const Layout*> layouts_;  // own_types(): of the input, and of the output
  std::vector<const void*> types_;
  std::vector<int64_t> numbers_;           // own_arrays()
  mutable std::vector<LayoutRef> ranges_;  // of messages of packed bytes with gaps, as last posted
};

// Binds; no communication. The engine is owned, as for all that uses a planner. The channel, the
// call's buffers, layouts and arrays outlive the execution. Fails with MPI_ERR_NO_MEM.
// Reductions read the vector's count and layout from in_count and in_layout, or under MPI_IN_PLACE
// from out_count and out_layout; reduce_scatter(_block) their counts from the out side always.
Result<std::unique_ptr<Execution>> prepare(engine::Channel& channel, Planner& planner, const Call& call);

// The same for a channel other than the one that the planner's executions are for, whose ranks are the same:
// they share the plans alone.
Result<std::unique_ptr<Execution>> prepare_anew(engine::Channel& channel, Planner& planner, const Call& call);

// Memory that a plan takes.
size_t bytes_of(const Plan& plan);

// Gives an execution that is over back, for the next call of its shape.
void keep(Planner& planner, std::unique_ptr<Execution> execution);

// Takes the channel's next serial and posts what can be posted. The engine is owned. The order of
// start() on a channel is the order in which its calls meet those of the other ranks.
void start(Execution& execution);
// The same, and waits until it is over, or until the channel's ledger is disturbed.
void run(Execution& execution);

}  // namespace tutti::coll
