// SPDX-License-Identifier: BSD-3-Clause
#include "exec/program/program_run.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/cpu.hpp"
#include "base/fault_point.hpp"
#include "base/stress_mode.hpp"
#include "engine/engine.hpp"
#include "memory/movers.hpp"

namespace tutti::exec {
namespace {

using coll::kShareHead;
using coll::ShareHead;

constexpr unsigned kPollsPerLook = 8;

// The next slot is likely to take as much as the last one: its lines come over from who read them
// last while there is nothing else to do.
void fetch_for_writing(const std::byte* slot, int64_t bytes) {
  bytes = std::min<int64_t>(bytes, cpu::kLongestFetch);
  for (int64_t at = cpu::kLine; at < bytes; at += int64_t{cpu::kLine}) cpu::prefetch_for_writing(slot + at);
}

// Into a slot. The line that its flag is on comes last: the others look at it all the time, and would
// take it back while the rest is written.
void show_short(std::byte* slot, const std::byte* from, size_t bytes) {
  const size_t beside = cpu::kLine - reinterpret_cast<uintptr_t>(slot) % cpu::kLine;
  if (bytes > beside) {
    memory::copy(slot + beside, from + beside, static_cast<int64_t>(bytes - beside));
    bytes = beside;
  }
  memory::copy_short(slot, from, bytes);
}

}  // namespace

ProgramRun::ProgramRun(engine::Channel& channel, std::shared_ptr<const Plan> plan, const Call& call)
    : Execution(channel, std::move(plan), call), steps_(binding_) {}

Error ProgramRun::bind(const Call& call) {
  if (Error e = Execution::bind(call)) return e;
  steps_.bind(channel_.neighbours());
  return {};
}

// ---- its lives

void ProgramRun::start() {
  keep_polling();  // in the list before it may end, and be no more
  if (begin_first_step()) execute();
}

bool ProgramRun::begin_first_step() {
  next_ = 0;
  steps_.rewind();
  lingered_ = 0;
  waited_ = false;
  return begin();
}

[[gnu::always_inline]] inline bool ProgramRun::has_nothing_new() const {
  const BoundStep* const step = steps_.begin() + next_;
  if (step == steps_.end()) return true;
  return step->kind == Step::Kind::await && rounds_.is_missing(step->round, step->peer);
}

// Looks by itself first, as long as what it waits for is likely to come soon, and is a flag.
void ProgramRun::run() {
  engine::Engine& engine = *channel_.engine;
  const bool has_turn = begin_first_step();
  if (has_turn) execute();
  if (!running()) {
    engine.over_at_once();
    return;
  }
  if (has_turn) {
    const auto look = [&](int looks) TUTTI_ENGINE_OWNED {
      for (; looks > 0; --looks) {
        if (!running()) return engine::Seen::all;
        if (messages_.are_open()) return engine::Seen::other;
        if (has_nothing_new()) continue;
        execute();
        if (!running()) return engine::Seen::all;
        if (engine.ownership().contended()) return engine::Seen::other;
      }
      return engine::Seen::nothing;
    };
    if (engine.look_out(look, true)) {
      engine.over_at_once();
      return;
    }
    if (!running()) return;  // a message was the last thing
    if (!is_abandoned()) keep_polling();
  }
  wait();
}

bool ProgramRun::poll() {
  engine::Engine& engine = *channel_.engine;
  if (!execute()) return false;
  engine.note_event();
  return true;
}

void ProgramRun::message_done(uint32_t, int error_class) {
  if (ends_with(error_class)) return;
  note(error_class);
  end_if_done();
}

// All steps are done, and so may be all messages.
void ProgramRun::end_if_done() {
  if (is_at_work() || messages_.are_open()) return;
  if (!is_abandoned() && (!all_done() || is_disturbed(channel_))) return;
  end();
}

// ---- its steps

[[gnu::always_inline]] inline std::byte* ProgramRun::at(const End& end) const {
  if (end.region == Region::shared) return rounds_.data(end.round, end.rank) + end.offset;
  return reinterpret_cast<std::byte*>(binding_.begin_of(end.region) + static_cast<uintptr_t>(end.offset));
}

[[gnu::always_inline]] inline void ProgramRun::copy_short_step(const BoundStep& step) {
  if (step.shows)
    show_short(at(step.into), at(step.from), static_cast<size_t>(step.length));
  else
    memory::copy_short(at(step.into), at(step.from), static_cast<size_t>(step.length));
}

// Of one that is not short. False: the rest is for a later pass. What goes through a slot is a piece already.
bool ProgramRun::copy_other(const BoundStep& step) {
  if (!step.direct) return pieces_.copy(steps_.step_of(step));
  std::byte* const into = at(step.into);
  const std::byte* const from = at(step.from);
  if (step.into.region == Region::shared)
    rounds_.put(into, from, static_cast<size_t>(step.length));
  else if (steps_.flood() && step.from.region == Region::shared)
    rounds_.get(into, from, static_cast<size_t>(step.length));
  else
    return pieces_.copy(into, from, step.length);
  return true;
}

[[gnu::always_inline]] inline bool ProgramRun::reduce(const BoundStep& step) {
  if (step.is_long) return pieces_.reduce(at(step.from), at(step.right), at(step.into), step.length);
  memory::reduce(call().reduction, at(step.from), at(step.right), at(step.into), step.length);
  return true;
}

[[gnu::always_inline]] inline bool ProgramRun::is_there(const BoundStep& step) {
  // A message tells all that the flag and the share would: these are looked at now and then.
  if (step.beside && ++looked_ % kPollsPerLook != 0) return false;
  if (!rounds_.is_there(step.round, step.peer)) {
    waited_ = true;
    return false;
  }
  if (!waited_ && step.peer >= 0) rounds_.fetch_next(step.round, step.peer);
  return true;
}

// One of its messages has failed as it was posted.
bool ProgramRun::end_abandoned() {
  end_if_done();
  return true;
}

// Under --stress=random: by chance that depends on the call, the rank and the step alone.
bool ProgramRun::lingers() {
  if (lingered_ == 0) {
    const uint64_t here = mixed(plan().chance ^ channel_.context, uint64_t{serial()} << 32 | next_);
    lingered_ = 1 + passes_late(mixed(here, static_cast<uint64_t>(channel_.rank)));
  }
  return --lingered_ > 0;
}

// True if anything happened; then it may be over, and gone.
bool ProgramRun::execute() {
  uint32_t before = next_;
  const int awaited = rounds_.awaited();
  const BoundStep* const past = steps_.end();
  const BoundStep* step = steps_.begin() + next_;
  const auto stop_at = [&](const BoundStep* next) TUTTI_ENGINE_OWNED {
    next_ = steps_.number_of(next);
    return next_ != before || rounds_.awaited() != awaited || pieces_.are_under_way();
  };
  // After a long step, but for the last one, which ends the call.
  const auto gives_way = [&]() TUTTI_ENGINE_OWNED {
    return step->is_long && step + 1 != past && channel_.engine->takes_turns();
  };
  for (; step != past; ++step) {
    switch (step->kind) {
      case Step::Kind::copy:
        if (step->is_short) [[likely]]
          copy_short_step(*step);
        else if (!copy_other(*step))
          return stop_at(step);
        else if (gives_way())
          return stop_at(step + 1);
        break;
      case Step::Kind::reduce:
        // An application thread's next pass comes here again.
        if (waits_for_application(step->kind) || !reduce(*step)) return stop_at(step);
        if (gives_way()) return stop_at(step + 1);
        break;
      case Step::Kind::show:
        show(*step);
        if (!step->fits && is_abandoned()) [[unlikely]]
          return end_abandoned();
        break;
      case Step::Kind::expect:
        if (step->fits) break;
        expect(*step);
        if (is_abandoned()) [[unlikely]]
          return end_abandoned();
        break;
      case Step::Kind::take:
        if (is_disturbed(channel_)) return stop_at(step);
        if (!take(*step)) [[unlikely]]
          return end_abandoned();
        break;
      case Step::Kind::claim:
        if (!rounds_.claim(step->round)) return stop_at(step);
        TUTTI_FAULT_POINT("lane.claimed");
        break;
      case Step::Kind::publish:
        TUTTI_FAULT_POINT("lane.written");
        rounds_.publish(step->round, step->peer);
        TUTTI_FAULT_POINT("lane.published");
        if (step->length > 0) fetch_for_writing(rounds_.data(step->round + 1, channel_.local()), step->length);
        break;
      case Step::Kind::await:
        if (step->beside && messages_.has_come(steps_.step_of(step[1]).operation))
          ++step;  // with what there is to take
        else if (!is_there(*step))
          return stop_at(step);
        break;
      case Step::Kind::leave:
        TUTTI_FAULT_POINT("lane.before_leaving");
        leave(step->round);
        TUTTI_FAULT_POINT("lane.left");
        break;
      case Step::Kind::loop:
        step = steps_.next_trip(step) - 1;
        before = UINT32_MAX;  // it may come to stand there again
        break;
      case Step::Kind::linger:
        stop_at(step);
        if (lingers()) return true;  // so that nobody sleeps meanwhile
        break;
      default:
        break;
    }
  }
  const bool moved = stop_at(step);
  if (messages_.are_open() || (plan().takes > 0 && is_disturbed(channel_))) return moved;
  end();
  return true;
}

// ---- blocks in shares, or beside them

// The head comes last: that of the first share is on the line of the flag.
[[gnu::always_inline]] inline void ProgramRun::show(const BoundStep& step) {
  if (!step.fits) return send_beside(step);
  std::byte* const share = at(step.into);
  const ShareHead head{step.word, static_cast<uint32_t>(step.length)};
  if (!step.direct)
    memory::pack(binding_.resolve(steps_.step_of(step).from), 0, share + kShareHead, step.length);
  else
    show_short(share + kShareHead, at(step.from), static_cast<size_t>(step.length));
  std::memcpy(share, &head, kShareHead);
}

void ProgramRun::send_beside(const BoundStep& bound) {
  const Step& step = steps_.step_of(bound);
  Payload block = binding_.resolve(step.from);
  if (step.kept >= 0) {
    const Payload kept{binding_.scratch(step.kept), bound.length};
    memory::copy(block, kept);
    block = kept;
  }
  const ShareHead head{bound.word, ShareHead::kBeside};
  std::memcpy(at(bound.into), &head, kShareHead);
  without_end([&]() TUTTI_ENGINE_OWNED { messages_.send(steps_.number_of(&bound), block, bound.word); });
}

void ProgramRun::expect(const BoundStep& step) {
  without_end([&]() TUTTI_ENGINE_OWNED { messages_.receive(steps_.number_of(&step)); });
}

// False: it is abandoned.
[[gnu::always_inline]] inline bool ProgramRun::take(const BoundStep& step) {
  const std::byte* const share = at(step.from);
  ShareHead head;
  std::memcpy(&head, share, kShareHead);
  if (head.signature == step.word && head.bytes == step.length && step.fits) [[likely]]
    return take_from_share(step, step.length), true;
  take_other(step, head);
  return !is_abandoned();
}

[[gnu::always_inline]] inline void ProgramRun::take_from_share(const BoundStep& step, int64_t bytes) {
  const std::byte* const data = at(step.from) + kShareHead;
  if (step.direct)
    memory::copy_short(at(step.into), data, static_cast<size_t>(bytes));
  else
    memory::unpack(binding_.resolve(steps_.step_of(step).into), 0, data, bytes);
}

// A block that comes as a message, or is not what it should be: taken and told as if it had come so.
void ProgramRun::take_other(const BoundStep& bound, const ShareHead& head) {
  if (head.bytes == ShareHead::kBeside) {
    if (bound.fits) expect(bound);  // else it is expected already
    return;
  }
  const Step& step = steps_.step_of(bound);
  if (!bound.fits) messages_.withdraw_receive(step.operation);  // nothing will come
  if (call().pair_data && channel_.ledger && head.signature != bound.word)
    channel_.ledger->pair_differs(serial(), step.peer, head.signature, bound.word, head.bytes, bound.length);
  if (head.bytes > bound.length) note(MPI_ERR_TRUNCATE);
  const int64_t most = std::min(bound.length, coll::room_in(step.from));
  take_from_share(bound, std::min<int64_t>(head.bytes, most));
}

}  // namespace tutti::exec
