// SPDX-License-Identifier: BSD-3-Clause
#include "exec/program/bound_steps.hpp"

#include <algorithm>
#include <fstream>
#include <utility>

#include "exec/pieces.hpp"

namespace tutti::exec {
namespace {

constexpr int64_t kNoFlood = 1 << 20;  // whatever the caches are
// Copies of fewer bytes end before it could be found out how best to do them.
constexpr int64_t kShortCopy = 4 << 10;

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

// Where `first` lies, which is part of `buf`.
End BoundSteps::end_at(const Buf& buf, const void* first) const {
  const auto address = reinterpret_cast<uintptr_t>(first);
  if (buf.region == Region::shared)
    return {static_cast<int64_t>(address - reinterpret_cast<uintptr_t>(binding_.home(buf))), buf.rank, buf.index,
            buf.region};
  return {static_cast<int64_t>(address - binding_.begin_of(buf.region)), 0, 0, buf.region};
}

// Of bytes in one run on both sides; others are copied as the plan's step says.
void BoundSteps::bind_copy(const Step& step, BoundStep& bound) const {
  const bool packs = step.from.unit == Unit::packed;
  Payload from, into;
  if (packs || step.into.unit == Unit::packed) {
    const Buf& user = packs ? step.from : step.into;
    const Payload whole = binding_.packed_whole(user);
    if (!whole.contiguous()) return;
    const Payload mine{whole.data() + user.offset, user.count};
    from = packs ? mine : binding_.resolve(step.from);
    into = packs ? binding_.resolve(step.into) : mine;
  } else {
    from = binding_.resolve(step.from);
    into = binding_.resolve(step.into);
  }
  if (!from.contiguous() || !into.contiguous()) return;
  bound.length = std::min(from.bytes(), into.bytes());
  bound.from = end_at(step.from, from.data());
  bound.into = end_at(step.into, into.data());
  bound.direct = true;
  bound.is_long = Pieces::is_long(bound.length);
  bound.is_short = bound.length < kShortCopy;
  bound.shows = bound.is_short && step.into.region == Region::shared;
}

// Of a show, an expect or a take.
void BoundSteps::bind_block(const Step& step, BoundStep& bound) const {
  const bool shows = step.kind == Step::Kind::show;
  const Buf &user = shows ? step.from : step.into, &share = shows ? step.into : step.from;
  const Payload block = binding_.resolve(user);
  bound.length = block.bytes();
  bound.fits = bound.length <= coll::room_in(share);
  if (step.kind == Step::Kind::expect) return;
  bound.direct = block.contiguous();
  bound.word = binding_.signature_of(user);
  (shows ? bound.from : bound.into) = end_at(user, bound.direct ? block.data() : block.base);
  (shows ? bound.into : bound.from) = end_at(share, binding_.resolve(share).base);
}

// Where the step before brings the right operand to where the result is to be, it is read where it
// lies instead.
void BoundSteps::bind_reduce(const Step& step, BoundStep& bound, BoundStep* before) const {
  const Payload from = binding_.resolve(step.from), into = binding_.resolve(step.into);
  bound.length = into.count;
  bound.from = end_at(step.from, from.base);
  bound.right = bound.into = end_at(step.into, into.base);
  bound.direct = true;
  bound.is_long = Pieces::is_long(into.bytes());
  if (!before || before->kind != Step::Kind::copy || !before->direct || before->length != into.bytes() ||
      before->into != bound.into)
    return;
  bound.right = before->from;
  before->kind = Step::Kind::join;
}

void BoundSteps::bind(int ranks) {
  const std::vector<Step>& steps = binding_.plan().steps;
  int64_t shown = 0, got = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    BoundStep& bound = steps_[i] = BoundStep();
    bound.kind = step.kind;
    bound.peer = step.peer;
    bound.round = static_cast<uint32_t>(step.slot);
    switch (step.kind) {
      case Step::Kind::copy:
        bind_copy(step, bound);
        if (step.into.region == Region::shared)
          shown = binding_.resolve(step.into).bytes();
        else if (step.from.region == Region::shared)
          got += bound.length;
        break;
      case Step::Kind::show:
      case Step::Kind::expect:
      case Step::Kind::take:
        bind_block(step, bound);
        if (step.kind == Step::Kind::take) steps_[i - 1].beside = !bound.fits;
        break;
      case Step::Kind::reduce:
        bind_reduce(step, bound, i > 0 ? &steps_[i - 1] : nullptr);
        break;
      case Step::Kind::publish:
        bound.length = std::exchange(shown, 0);
        break;
      default:
        break;
    }
  }
  const int64_t all_get = got * ranks;
  flood_ = all_get > kNoFlood && all_get > last_level_cache() / 2;
}

}  // namespace tutti::exec
