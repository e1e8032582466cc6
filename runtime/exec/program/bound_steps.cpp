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

BoundSteps::BoundSteps(const Binding& binding) : binding_(binding) {
  const Plan& plan = binding.plan();
  if (plan.loops.empty()) {
    steps_.resize(plan.steps.size());
    return;
  }
  for (const Step& step : plan.steps) {
    if (step.kind == Step::Kind::loop) {
      const coll::Loop& loop = plan.loops[static_cast<size_t>(step.slot)];
      loops_.push_back({&loop, static_cast<uint32_t>(in_trips_.size()), 0, {}});
      in_trips_.insert(in_trips_.end(), loop.steps.begin(), loop.steps.end());
    }
    in_trips_.push_back(step);
  }
  steps_.resize(in_trips_.size());
}

bool BoundSteps::begins_trip(uint32_t number) const {
  return number == 0 || std::ranges::any_of(loops_, [&](const Looping& each) { return each.first == number; });
}

void BoundSteps::bind_step(uint32_t number, int64_t& shown) {
  const Step& it = step(number);
  BoundStep& bound = steps_[number] = BoundStep();
  bound.kind = it.kind;
  bound.peer = it.peer;
  bound.round = static_cast<uint32_t>(it.slot);
  switch (it.kind) {
    case Step::Kind::copy:
      bind_copy(it, bound);
      if (it.into.region == Region::shared) shown = binding_.resolve(it.into).bytes();
      break;
    case Step::Kind::show:
    case Step::Kind::expect:
    case Step::Kind::take:
      bind_block(it, bound);
      if (it.kind == Step::Kind::take) steps_[number - 1].beside = !bound.fits;
      break;
    case Step::Kind::reduce:
      bind_reduce(it, bound, begins_trip(number) ? nullptr : &steps_[number - 1]);
      break;
    case Step::Kind::publish:
      bound.length = std::exchange(shown, 0);
      break;
    default:
      break;
  }
}

void BoundSteps::bind_steps(uint32_t begin, uint32_t end, int64_t& shown) {
  for (uint32_t number = begin; number < end; ++number) bind_step(number, shown);
}

void BoundSteps::bind_trip(Looping& looping, uint32_t trip) {
  looping.trip = trip;
  int64_t shown = 0;
  bind_steps(looping.first, looping.first + looping.length(), shown);
}

const Step& BoundSteps::step_in_trip(uint32_t number) const {
  for (const Looping& each : loops_)
    if (number >= each.first && number < each.first + each.length())
      in_trips_[number] = each.loop->at(number - each.first, each.trip);
  return in_trips_[number];
}

void BoundSteps::go_on(BoundStep& step, const Going& by, int64_t trips) {
  const auto times = [trips](End end) {
    end.offset *= trips;
    end.round *= static_cast<uint32_t>(trips);
    return end;
  };
  step.from.go_on(times(by.from));
  step.into.go_on(times(by.into));
  step.right.go_on(times(by.right));
  step.round += by.round * static_cast<uint32_t>(trips);
}

// Bound for trip 0, which stays. What goes on evenly to the last trip need not be bound again.
void BoundSteps::find_going(Looping& looping) {
  looping.going.clear();
  const uint32_t last = looping.loop->trips - 1;
  const auto first = steps_.begin() + looping.first;
  const std::vector<BoundStep> begin(first, first + looping.length());
  const auto bound_for = [&](uint32_t trip) {
    bind_trip(looping, trip);
    return std::vector<BoundStep>(first, first + looping.length());
  };
  const std::vector<BoundStep> next = bound_for(1), end = bound_for(last);
  looping.trip = 0;
  std::ranges::copy(begin, first);
  if (looping.loop->row <= last) return;
  const auto beyond = [](const End& a, const End& b) {
    return End{.offset = b.offset - a.offset, .round = b.round - a.round};
  };
  std::vector<Going> going;
  for (size_t i = 0; i < begin.size(); ++i) {
    const BoundStep &a = begin[i], &b = next[i];
    going.push_back({beyond(a.from, b.from), beyond(a.into, b.into), beyond(a.right, b.right), b.round - a.round});
    BoundStep there = a;
    go_on(there, going.back(), last);
    if (!(there == end[i])) return;
  }
  looping.going = std::move(going);
}

void BoundSteps::go_to_trip(Looping& looping, uint32_t trip) {
  if (looping.going.empty()) return bind_trip(looping, trip);
  const int64_t trips = int64_t{trip} - looping.trip;  // back to the first one, too
  for (uint32_t i = 0; i < looping.length(); ++i) go_on(steps_[looping.first + i], looping.going[i], trips);
  looping.trip = trip;
}

const BoundStep* BoundSteps::next_trip(const BoundStep* step) {
  Looping& looping = loops_[step->round];
  if (looping.trip + 1 == looping.loop->trips) return step + 1;
  go_to_trip(looping, looping.trip + 1);
  return begin() + looping.first;
}

void BoundSteps::bind(int ranks) {
  for (Looping& each : loops_) each.trip = 0;
  int64_t shown = 0;
  bind_steps(0, static_cast<uint32_t>(steps_.size()), shown);
  for (Looping& each : loops_)
    if (each.loop->trips > 1) find_going(each);
  int64_t got = 0;
  size_t next_loop = 0;
  for (uint32_t number = 0; number < steps_.size(); ++number) {
    const Step& it = step(number);
    if (it.kind == Step::Kind::loop) ++next_loop;
    if (it.kind != Step::Kind::copy || it.into.region == Region::shared || it.from.region != Region::shared) continue;
    const bool loops = next_loop < loops_.size() && number >= loops_[next_loop].first;
    got += steps_[number].length * (loops ? loops_[next_loop].loop->trips : 1);
  }
  const int64_t all_get = got * ranks;
  flood_ = all_get > kNoFlood && all_get > last_level_cache() / 2;
}

}  // namespace tutti::exec
