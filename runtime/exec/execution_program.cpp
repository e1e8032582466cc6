// SPDX-License-Identifier: BSD-3-Clause
// Programs: plans whose steps are all in shared memory or in a rank's own, and run one after the
// other. They are what most short collectives are, so that little is left to find out when they
// run. Blocks that are too long for their shares go as messages meanwhile.
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/cpu.hpp"
#include "base/log.hpp"
#include "base/stress_mode.hpp"
#include "exec/execution_operations.hpp"

namespace tutti::coll {
namespace {

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
    std::memcpy(slot + beside, from + beside, bytes - beside);
    bytes = beside;
  }
  copy_short(slot, from, bytes);
}

}  // namespace

[[gnu::always_inline]] inline std::byte* Execution::at(const End& end) const {
  if (end.region == Region::shared) return lane_->data(first_round_ + end.round, end.rank) + end.offset;
  return reinterpret_cast<std::byte*>(begins_[static_cast<size_t>(end.region)] + static_cast<uintptr_t>(end.offset));
}

[[gnu::always_inline]] inline bool Execution::may_write(uint32_t round) {
  const bool free = lane_->claim(round);
  if (const auto serial = lane_->contradiction(); serial && channel_.ledger) [[unlikely]]
    channel_.ledger->contradicted(*serial);
  return free && !is_disturbed();
}

[[gnu::always_inline]] inline bool Execution::is_raised(uint32_t round, int peer) {
  if (!lane_->is_raised(round, peer)) return false;
  const uint64_t theirs = lane_->signature(round, peer) ^ history_;
  if (theirs != call_.signature && channel_.ledger) [[unlikely]]
    channel_.ledger->flag_differs(serial_, theirs);
  return true;
}

[[gnu::always_inline]] inline bool Execution::is_there(uint32_t round, int peer) {
  if (peer >= 0) return is_raised(round, peer) && !is_disturbed();
  for (const int size = channel_.neighbours(); awaited_ < size; ++awaited_)
    if (awaited_ != channel_.local() && !is_raised(round, awaited_)) return false;
  awaited_ = 0;
  return !is_disturbed();
}

[[gnu::always_inline]] inline void Execution::leave(uint32_t round) {
  lane_->leave(round);
  if (!late().empty()) [[unlikely]]
    admit_late();
}

// Does a step in shared memory of a plan of messages; false: not yet.
bool Execution::share(const Step& step) {
  const uint32_t round = first_round_ + static_cast<uint32_t>(step.slot);
  switch (step.kind) {
    case Step::Kind::claim:
      return may_write(round);
    case Step::Kind::publish:
      lane_->raise(round, call_.signature ^ history_, step.peer);
      return true;
    case Step::Kind::await:
      return is_there(round, step.peer);
    case Step::Kind::leave:
      leave(round);
      return true;
    default:
      TUTTI_INVARIANT(false, "a plan of messages has no such step");
  }
}

// Under --stress=random: by chance that depends on the call, the rank and the step alone.
bool Execution::lingers() {
  if (lingered_ == 0) {
    const uint64_t here = mixed(plan_->chance ^ channel_.context, uint64_t{serial_} << 32 | next_);
    lingered_ = 1 + passes_late(mixed(here, static_cast<uint64_t>(channel_.rank)));
  }
  return --lingered_ > 0;
}

// What goes through a slot is a piece already.
bool Execution::copy_long(const BoundStep& step) {
  std::byte* const into = at(step.into);
  const std::byte* const from = at(step.from);
  if (step.into.region == Region::shared) {
    lane_->put(into, from, static_cast<size_t>(step.length));
  } else if (floods_ && step.from.region == Region::shared) {
    lane_->get(into, from, static_cast<size_t>(step.length));
  } else {
    return in_pieces(step.length, kPiece, [&](int64_t begin, int64_t length) {
      std::memcpy(into + begin, from + begin, static_cast<size_t>(length));
    });
  }
  return true;
}

// ---- blocks in shares, or beside them

// The head comes last: that of the first share is on the line of the flag.
[[gnu::always_inline]] inline void Execution::show(const BoundStep& step) {
  if (!step.fits) return send_beside(step);
  std::byte* const share = at(step.into);
  const ShareHead head{step.word, static_cast<uint32_t>(step.length)};
  if (!step.direct)
    resolve(step_of(step).from).pack(0, share + kShareHead, step.length);
  else
    show_short(share + kShareHead, at(step.from), static_cast<size_t>(step.length));
  std::memcpy(share, &head, kShareHead);
}

void Execution::send_beside(const BoundStep& bound) {
  const Step& step = step_of(bound);
  Payload block = resolve(step.from);
  if (step.kept >= 0) {
    const Payload kept{scratch_[step.kept], bound.length};
    copy_payload(block, kept);
    block = kept;
  }
  const ShareHead head{bound.word, ShareHead::kBeside};
  std::memcpy(at(bound.into), &head, kShareHead);
  performing_ = true;
  post_send(static_cast<uint32_t>(&bound - bound_), block, bound.word);
  performing_ = false;
}

void Execution::expect(const BoundStep& step) {
  performing_ = true;
  post_recv(static_cast<uint32_t>(&step - bound_));
  performing_ = false;
}

[[gnu::always_inline]] inline void Execution::take(const BoundStep& step) {
  const std::byte* const share = at(step.from);
  ShareHead head;
  std::memcpy(&head, share, kShareHead);
  if (head.signature == step.word && head.bytes == step.length && step.fits) [[likely]]
    take_from_share(step, step.length);
  else
    take_other(step, head);
}

[[gnu::always_inline]] inline void Execution::take_from_share(const BoundStep& step, int64_t bytes) {
  const std::byte* const data = at(step.from) + kShareHead;
  if (step.direct)
    copy_short(at(step.into), data, static_cast<size_t>(bytes));
  else
    resolve(step_of(step).into).unpack(0, data, bytes);
}

void Execution::take_beside(const BoundStep& step) {
  if (step.fits) expect(step);  // else it is expected already
}

// A block that comes as a message, or is not what it should be: taken and told as if it had come so.
void Execution::take_other(const BoundStep& bound, const ShareHead& head) {
  if (head.bytes == ShareHead::kBeside) return take_beside(bound);
  const Step& step = step_of(bound);
  if (!bound.fits) withdraw_receive(step.operation);  // nothing will come
  if (call_.pair_data && channel_.ledger && head.signature != bound.word)
    channel_.ledger->pair_differs(serial_, step.peer, head.signature, bound.word, head.bytes, bound.length);
  if (head.bytes > bound.length && mpi_class == MPI_SUCCESS) mpi_class = MPI_ERR_TRUNCATE;
  const int64_t most = std::min(bound.length, room_in(step.from));
  take_from_share(bound, std::min<int64_t>(head.bytes, most));
}

// All steps are done, and so may be all messages.
void Execution::end_program() {
  if (performing_ || messages_ > 0) return;
  if (!abandoned_ && (next_ < plan_->steps.size() || is_disturbed())) return;
  leave_lists();
  over();
}

// True if anything happened; then it may be over, and gone.
bool Execution::execute() {
  const uint32_t before = next_;
  const int awaited = awaited_;
  const BoundStep* const end = bound_ + plan_->steps.size();
  const BoundStep* step = bound_ + next_;
  const auto stop_here = [&] {
    next_ = static_cast<uint32_t>(step - bound_);
    return next_ != before || awaited_ != awaited || done_ > 0;
  };
  // After a long step, but for the last one, which ends the call.
  const auto gives_way = [&] { return step + 1 != end && channel_.engine->takes_turns(); };
  for (; step != end; ++step) {
    const uint32_t round = first_round_ + step->slot;
    switch (step->kind) {
      case Step::Kind::copy:
        if (!step->direct) [[unlikely]] {
          if (!copy(step_of(*step))) return stop_here();
        } else if (step->shows) {
          show_short(at(step->into), at(step->from), static_cast<size_t>(step->length));
        } else if (step->length < kLongCopy) {
          copy_short(at(step->into), at(step->from), static_cast<size_t>(step->length));
        } else if (!copy_long(*step)) {
          return stop_here();
        } else if (step->is_long && gives_way()) {
          ++step;
          return stop_here();
        }
        break;
      case Step::Kind::show:
        show(*step);
        break;
      case Step::Kind::expect:
        if (!step->fits) expect(*step);
        break;
      case Step::Kind::take:
        if (is_disturbed()) return stop_here();
        take(*step);
        break;
      case Step::Kind::reduce:
        // An application thread's next pass comes here again.
        if (waits_for_application(step->kind)) return stop_here();
        if (!step->is_long) {
          call_.reduction.apply(call_.reduction, at(step->from), at(step->right), at(step->into), step->length);
        } else if (!apply(at(step->from), at(step->right), at(step->into), step->length)) {
          return stop_here();
        } else if (gives_way()) {
          ++step;
          return stop_here();
        }
        break;
      case Step::Kind::claim:
        if (!may_write(round)) return stop_here();
        break;
      case Step::Kind::publish:
        lane_->raise(round, call_.signature ^ history_, step->peer);
        if (step->length > 0) fetch_for_writing(lane_->data(round + 1, channel_.local()), step->length);
        break;
      case Step::Kind::await:
        // A message tells all that the flag and the share would: they are looked at now and then.
        if (step->beside) {
          if (has_come(step[1])) {
            ++step;
            break;
          }
          if (++looked_ % kPollsPerLook != 0) return stop_here();
        }
        if (!is_there(round, step->peer)) {
          waited_ = true;
          return stop_here();
        }
        if (!waited_ && step->peer >= 0) lane_->fetch_next(round, step->peer);
        break;
      case Step::Kind::leave:
        leave(round);
        break;
      case Step::Kind::linger:
        next_ = static_cast<uint32_t>(step - bound_);
        if (lingers()) return true;  // so that nobody sleeps meanwhile
        break;
      default:
        break;
    }
  }
  if (messages_ > 0 || (plan_->takes > 0 && is_disturbed())) return stop_here();
  next_ = static_cast<uint32_t>(end - bound_);
  leave_lists();
  over();
  return true;
}

bool Execution::awaits(engine::Match& what) const {
  if (late_ || next_ >= plan_->steps.size()) return false;
  const Step& step = plan_->steps[next_];
  if (step.kind == Step::Kind::await) {
    const int peer = step.peer >= 0 ? step.peer : awaited_;
    what = {channel_.context, channel_.neighbour(peer), step.slot, serial_};
    return true;
  }
  const uint32_t round = first_round_ + static_cast<uint32_t>(step.slot);
  for (int peer = 0; step.kind == Step::Kind::claim && peer < channel_.neighbours(); ++peer) {
    const transport::Lane::Holder holder = lane_->holder(round, peer);
    if (!holder.holds || !holder.serial) continue;
    what = {channel_.context, channel_.neighbour(peer), step.slot, *holder.serial};
    return true;
  }
  return false;
}

// Only those whose first round is in reach are polled: any number may be outstanding.
void Execution::admit_late() {
  while (!late().empty()) {
    auto& first = static_cast<Execution&>(*late().first());
    if (!lane_->is_in_reach(first.first_round_)) return;
    late().remove(first);
    first.late_ = false;
    first.polled_ = true;
    lane_->begin(first.first_round_, first.serial_, first.history_);
    channel_.engine->add_poller(first);
  }
}

}  // namespace tutti::coll
