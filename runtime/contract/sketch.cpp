// SPDX-License-Identifier: BSD-3-Clause
#include "contract/sketch.hpp"

#include <algorithm>
#include <utility>

namespace tutti::contract {
namespace {

using life::Actor;
using life::Condition;

// Parts of a condition that are told, however large the job; and of all processes together.
constexpr int kMostParts = 32, kMostPartsOfJob = 16384;

// ---- numbers, the small ones in one byte

void put_number(Bytes& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<std::byte>(value | 0x80));
  to.push_back(static_cast<std::byte>(value));
}
bool get_number(std::span<const std::byte>& from, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !from.empty(); shift += 7) {
    const auto byte = static_cast<uint64_t>(from.front());
    from = from.subspan(1);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}
// Below zero, too.
void put_gap(Bytes& to, int64_t gap) {
  put_number(to, static_cast<uint64_t>(gap) << 1 ^ static_cast<uint64_t>(gap >> 63));
}
bool get_gap(std::span<const std::byte>& from, int64_t& gap) {
  uint64_t value = 0;
  if (!get_number(from, value)) return false;
  gap = static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
  return true;
}

// ---- as much of a condition as is told

size_t parts_at_most(int job_size) {
  return static_cast<size_t>(std::max(kMostParts, kMostPartsOfJob / std::max(job_size, 1)));
}

void copy_range(const Condition::Node& range, int job_size, Condition& to) {
  uint32_t own = range.count;  // those in front that are of this job, or behind where it goes down
  const bool goes_down = range.stride < 0;
  uint32_t foreign = 0;
  for (uint32_t i = 0; i < range.count; ++i) foreign += range.process(i) >= job_size;
  if (foreign == 0) return void(to.some(range.actor.process, static_cast<int>(range.count), range.stride));
  own -= foreign;
  to.any().process(job_size);
  if (own > 0) to.some(range.process(goes_down ? foreign : 0), static_cast<int>(own), range.stride);
  to.end();
}

void copy_parts(const Condition& needs, uint32_t from, uint32_t to, int job_size, Condition& copy) {
  for (uint32_t i = from; i < to; i = needs.nodes()[i].end) {
    const Condition::Node& node = needs.nodes()[i];
    if (node.kind == Condition::Kind::actor) {
      const bool is_foreign = node.actor.process >= job_size;
      is_foreign || node.actor.is_process()
          ? copy.process(std::min(node.actor.process, job_size))
          : copy.collective(node.actor.process, node.actor.context, node.actor.serial);
    } else if (node.kind == Condition::Kind::some) {
      copy_range(node, job_size, copy);
    } else {
      node.kind == Condition::Kind::all ? copy.all() : copy.any();
      copy_parts(needs, i + 1, node.end, job_size, copy);
      copy.end();
    }
  }
}

// What a thread needs, which is all of its parts: some of them will do, and where one of them is long anybody does.
Condition short_needs(const Condition& needs, int job_size) {
  const size_t most = parts_at_most(job_size);
  Condition copy;
  for (uint32_t i = 0; i < needs.nodes().size() && copy.nodes().size() < most; i = needs.nodes()[i].end) {
    const uint32_t end = needs.nodes()[i].end;
    end - i > most ? void(copy.some(0, WaitGraph::kAnybody)) : copy_parts(needs, i, end, job_size, copy);
  }
  return copy;
}

// What a collective under way needs, one of its parts.
Condition short_needs_of_course(const Condition& needs, int job_size) {
  Condition copy;
  const auto size = static_cast<uint32_t>(needs.nodes().size());
  size > parts_at_most(job_size) ? void(copy.some(0, WaitGraph::kAnybody)) : copy_parts(needs, 0, size, job_size, copy);
  return copy;
}

// ---- in bytes

enum Flag : uint8_t { kCanAct = 1, kMoving = 2, kEnded = 4 };
enum Mark : uint8_t { kOfLastCall = 4, kOfCall = 8 };

// A collective, of which several parts of a sketch mostly name the same.
struct LastCall {
  uint64_t context = 0, serial = 0;
};

void put_condition(int process, const Condition& needs, LastCall& last, Bytes& to) {
  put_number(to, needs.nodes().size());
  for (uint32_t i = 0; i < needs.nodes().size(); ++i) {
    const Condition::Node& node = needs.nodes()[i];
    const Actor& actor = node.actor;
    const bool is_last = last.context == actor.context && last.serial == actor.serial;
    const uint8_t call = actor.is_process() ? 0 : is_last ? kOfLastCall : kOfCall;
    put(to, static_cast<uint8_t>(static_cast<uint8_t>(node.kind) | call));
    switch (node.kind) {
      case Condition::Kind::all:
      case Condition::Kind::any:
        put_number(to, node.end - i);
        break;
      case Condition::Kind::some:
        put_gap(to, actor.process);
        put_number(to, node.count);
        put_gap(to, node.stride);
        break;
      case Condition::Kind::actor:
        put_gap(to, static_cast<int64_t>(actor.process) - process);
        if (call != kOfCall) break;
        last = {actor.context, actor.serial};
        put_number(to, actor.context);
        put_number(to, actor.serial);
        break;
    }
  }
}

bool get_actor(std::span<const std::byte>& from, int process, uint8_t call, LastCall& last, Condition& needs) {
  int64_t gap = 0;
  if (!get_gap(from, gap)) return false;
  if (call == kOfCall && (!get_number(from, last.context) || !get_number(from, last.serial))) return false;
  const auto number = static_cast<int>(process + gap);
  call ? needs.collective(number, last.context, static_cast<uint32_t>(last.serial)) : needs.process(number);
  return true;
}

bool get_range(std::span<const std::byte>& from, Condition& needs) {
  int64_t first = 0, stride = 0;
  uint64_t count = 0;
  if (!get_gap(from, first) || !get_number(from, count) || !get_gap(from, stride)) return false;
  needs.some(static_cast<int>(first), static_cast<int>(count), static_cast<int>(stride));
  return true;
}

// Into `needs`, whose memory is used again.
bool get_condition(std::span<const std::byte>& from, int process, LastCall& last, Condition& needs) {
  needs.clear();
  uint64_t size = 0;
  if (!get_number(from, size) || size > from.size()) return false;
  std::vector<uint64_t> ends;  // of the groups that are open
  for (uint64_t i = 0; i < size; ++i) {
    for (; !ends.empty() && ends.back() <= i; ends.pop_back()) needs.end();
    uint8_t mark = 0;
    if (!get(from, mark)) return false;
    const auto kind = static_cast<Condition::Kind>(mark & 3);
    if (kind == Condition::Kind::actor) {
      if (!get_actor(from, process, mark & (kOfLastCall | kOfCall), last, needs)) return false;
    } else if (kind == Condition::Kind::some) {
      if (!get_range(from, needs)) return false;
    } else {
      uint64_t length = 0;
      if (!get_number(from, length) || length == 0 || i + length > (ends.empty() ? size : ends.back())) return false;
      kind == Condition::Kind::all ? needs.all() : needs.any();
      ends.push_back(i + length);
    }
  }
  for (; !ends.empty(); ends.pop_back()) needs.end();
  return true;
}

bool names_another_job(const Condition& needs, int job_size) {
  return std::ranges::any_of(needs.nodes(), [job_size](const Condition::Node& node) {
    return node.kind == Condition::Kind::actor && node.actor.process >= job_size;
  });
}

bool read_sketch(std::span<const std::byte>& from, int job_size, Condition& needs, Sketches& sketches) {
  uint64_t process = 0, threads = 0, courses = 0;
  uint8_t flags = 0;
  if (!get_number(from, process) || process >= static_cast<uint64_t>(job_size) || !get(from, flags) ||
      !get_number(from, threads))
    return false;
  const auto self = static_cast<int>(process);
  if (sketches.graph.knows(self)) return false;
  sketches.graph.add_process(self, flags & kCanAct);
  ++sketches.count;
  if (flags & kEnded) sketches.ended.push_back(self);
  LastCall last;
  bool is_foreign = false;
  for (; threads > 0; --threads) {
    if (!get_condition(from, self, last, needs)) return false;
    is_foreign |= names_another_job(needs, job_size);
    sketches.graph.add_thread(needs);
  }
  if (!get_number(from, courses)) return false;
  for (; courses > 0; --courses) {
    LastCall call;
    if (!get_number(from, call.context) || !get_number(from, call.serial)) return false;
    last = call;
    if (!get_condition(from, self, last, needs)) return false;
    is_foreign |= names_another_job(needs, job_size);
    sketches.graph.add_course(call.context, static_cast<uint32_t>(call.serial), needs, flags & kMoving);
  }
  if (is_foreign) sketches.need_others.push_back(self);
  return true;
}

}  // namespace

void write_sketch(int process, const ProcessState& state, int job_size, Bytes& to) {
  const bool can_act = !state.blocked || state.moving;
  if (can_act && state.courses.empty()) return;
  LastCall last;
  put_number(to, static_cast<uint64_t>(process));
  put(to, static_cast<uint8_t>(can_act * kCanAct | state.moving * kMoving | state.ended * kEnded));
  put_number(to, can_act ? 0 : state.threads.size());
  if (!can_act)
    for (const BlockedThread& thread : state.threads)
      put_condition(process, short_needs(thread.needs, job_size), last, to);
  // Those that were started first, which others mostly wait for.
  const size_t courses = std::min(state.courses.size(), parts_at_most(job_size));
  put_number(to, courses);
  for (size_t i = 0; i < courses; ++i) {
    const Course& course = state.courses[i];
    put_number(to, course.context);
    put_number(to, course.serial);
    last = {course.context, course.serial};
    put_condition(process, short_needs_of_course(course.needs, job_size), last, to);
  }
}

bool read_sketches(std::span<const std::byte> from, int job_size, Sketches& sketches) {
  Condition needs;
  while (!from.empty())
    if (!read_sketch(from, job_size, needs, sketches)) return false;
  std::ranges::sort(sketches.ended);
  return true;
}

}  // namespace tutti::contract
