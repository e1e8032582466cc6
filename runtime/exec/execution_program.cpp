// SPDX-License-Identifier: BSD-3-Clause
// Programs: plans whose steps are all in shared memory or in a rank's own, and run one after the
// other. They are what most short collectives are, so that little is left to find out when they
// run. Blocks that are too long for their shares go as messages meanwhile.
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <new>
#include <utility>

#include "base/cpu.hpp"
#include "base/log.hpp"
#include "base/stress_mode.hpp"
#include "exec/execution.hpp"

namespace tutti::coll {
namespace {

constexpr int64_t kLongCopy = 4 << 10;
constexpr unsigned kPollsPerLook = 8;
constexpr int64_t kNoFlood = 1 << 20;  // whatever the caches are

// The next slot is likely to take as much as the last one: its lines come over from who read them
// last while there is nothing else to do.
void fetch_for_writing(const std::byte* slot, int64_t bytes) {
  bytes = std::min<int64_t>(bytes, cpu::kLongestFetch);
  for (int64_t at = cpu::kLine; at < bytes; at += int64_t{cpu::kLine})
    cpu::prefetch_for_writing(slot + at);
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

// In bytes; as if without end where the kernel does not tell. (What the C library tells is the
// processor's own word, which in virtual machines may be ten times as much.)
int64_t last_level_cache() {
  static const int64_t size = [] {
    int64_t kib = 0;
    std::ifstream("/sys/devices/system/cpu/cpu0/cache/index3/size") >> kib;
    return kib > 0 ? kib << 10 : INT64_MAX;
  }();
  return size;
}

}  // namespace

// ---- binding

// Where `first` lies, which is part of `buf`.
Execution::End Execution::end_at(const Buf& buf, const void* first) const {
  const auto address = reinterpret_cast<uintptr_t>(first);
  if (buf.region == Region::shared)
    return {static_cast<int64_t>(address - reinterpret_cast<uintptr_t>(home(buf))), buf.rank,
            buf.index, buf.region};
  return {static_cast<int64_t>(address - begins_[static_cast<size_t>(buf.region)]), 0, 0,
          buf.region};
}

[[gnu::always_inline]] inline std::byte* Execution::at(const End& end) const {
  if (end.region == Region::shared)
    return lane_->data(first_round_ + end.round, end.rank) + end.offset;
  return reinterpret_cast<std::byte*>(begins_[static_cast<size_t>(end.region)] +
                                      static_cast<uintptr_t>(end.offset));
}

// Of bytes in one run on both sides; others are copied as the plan's step says.
void Execution::bind_copy(const Step& step, BoundStep& bound) const {
  const bool packs = step.from.unit == Unit::packed;
  Payload from, into;
  if (packs || step.into.unit == Unit::packed) {
    const Buf& user = packs ? step.from : step.into;
    const Payload whole = packed_whole(user);
    if (!whole.contiguous()) return;
    const Payload mine{whole.data() + user.offset, user.count};
    from = packs ? mine : resolve(step.from);
    into = packs ? resolve(step.into) : mine;
  } else {
    from = resolve(step.from);
    into = resolve(step.into);
  }
  if (!from.contiguous() || !into.contiguous()) return;
  bound.length = std::min(from.bytes(), into.bytes());
  bound.from = end_at(step.from, from.data());
  bound.into = end_at(step.into, into.data());
  bound.direct = true;
  bound.is_long = bound.length > kPiece / 2;
  bound.shows = step.into.region == Region::shared && bound.length < kLongCopy;
}

// Of a show, an expect or a take.
void Execution::bind_block(const Step& step, BoundStep& bound) const {
  const bool shows = step.kind == Step::Kind::show;
  const Buf &user = shows ? step.from : step.into, &share = shows ? step.into : step.from;
  const Payload block = resolve(user);
  bound.length = block.bytes();
  bound.fits = bound.length <= room_in(share);
  if (step.kind == Step::Kind::expect) return;
  bound.direct = block.contiguous();
  bound.word = call_.pair_data ? signature_of(user) : call_.signature;
  (shows ? bound.from : bound.into) = end_at(user, bound.direct ? block.data() : block.base);
  (shows ? bound.into : bound.from) = end_at(share, resolve(share).base);
}

// Where the step before brings the right operand to where the result is to be, it is read where it
// lies instead.
void Execution::bind_reduce(const Step& step, BoundStep& bound, BoundStep* before) const {
  const Payload from = resolve(step.from), into = resolve(step.into);
  bound.length = into.count;
  bound.from = end_at(step.from, from.base);
  bound.right = bound.into = end_at(step.into, into.base);
  bound.direct = true;
  bound.is_long = into.bytes() > kPiece / 2;
  if (!before || before->kind != Step::Kind::copy || !before->direct ||
      before->length != into.bytes() || before->into != bound.into)
    return;
  bound.right = before->from;
  before->kind = Step::Kind::join;
}

void Execution::bind_steps() {
  int64_t shown = 0, got = 0;
  for (size_t i = 0; i < plan_->steps.size(); ++i) {
    const Step& step = plan_->steps[i];
    BoundStep& bound = *new (bound_ + i) BoundStep;
    bound.kind = step.kind;
    bound.peer = step.peer;
    bound.slot = static_cast<uint32_t>(step.slot);
    switch (step.kind) {
      case Step::Kind::copy:
        bind_copy(step, bound);
        if (step.into.region == Region::shared)
          shown = resolve(step.into).bytes();
        else if (step.from.region == Region::shared)
          got += bound.length;
        break;
      case Step::Kind::show:
      case Step::Kind::expect:
      case Step::Kind::take:
        bind_block(step, bound);
        if (step.kind == Step::Kind::take) bound_[i - 1].beside = !bound.fits;
        break;
      case Step::Kind::reduce:
        bind_reduce(step, bound, i > 0 ? &bound_[i - 1] : nullptr);
        break;
      case Step::Kind::publish:
        bound.length = std::exchange(shown, 0);
        break;
      default:
        break;
    }
  }
  const int64_t all_get = got * channel_.neighbours();
  floods_ = all_get > kNoFlood && all_get > last_level_cache() / 2;
}

// ---- running

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

[[gnu::always_inline]] inline void Execution::take_from_share(const BoundStep& step,
                                                              int64_t bytes) {
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
    channel_.ledger->pair_differs(serial_, step.peer, head.signature, bound.word, head.bytes,
                                  bound.length);
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
          call_.reduction.apply(call_.reduction, at(step->from), at(step->right), at(step->into),
                                step->length);
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
        if (step->length > 0)
          fetch_for_writing(lane_->data(round + 1, channel_.local()), step->length);
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
