// SPDX-License-Identifier: BSD-3-Clause
#include "contract/deadlock.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/bytes.hpp"

namespace tutti::contract {
namespace {

using life::Actor;
using life::Condition;

const Course* course_of(const ProcessState& state, const Actor& actor) {
  for (const Course& course : state.courses)
    if (course.context == actor.context && course.serial == actor.serial) return &course;
  return nullptr;
}

const PeerTraffic* traffic_with(const ProcessState& state, int peer) {
  const auto at = std::ranges::lower_bound(state.traffic, peer, {}, &PeerTraffic::peer);
  return at != state.traffic.end() && at->peer == peer ? &*at : nullptr;
}

// Has one of the known processes sent it something that it has not received yet?
bool something_is_under_way_to(int process, const ProcessState& state, const States& states) {
  for (const auto& [other, theirs] : states) {
    if (other == process) continue;
    const PeerTraffic* out = traffic_with(theirs, process);
    const PeerTraffic* in = traffic_with(state, other);
    if ((out ? out->sent : 0) != (in ? in->received : 0)) return true;
  }
  return false;
}

// The least fixed point of being alive.
class Judgement {
 public:
  // `unknown`: do those about whom nothing is known count as alive?
  Judgement(const States& states, bool unknown) : states_(states), unknown_(unknown) {
    for (const auto& [process, state] : states) {
      Verdict& v = verdicts_[process];
      v.courses.assign(state.courses.size(), false);
      v.process = !state.blocked;
      if (state.moving || something_is_under_way_to(process, state, states)) {
        v.process = true;
        v.courses.assign(state.courses.size(), true);
      }
    }
    while (spread()) {
    }
  }

  bool alive(const Actor& actor) const {
    const auto at = states_.find(actor.process);
    if (at == states_.end()) return unknown_;
    const Verdict& verdict = verdicts_.at(actor.process);
    if (actor.is_process()) return verdict.process;
    // A call that is not under way there has to be made by a thread.
    const Course* course = course_of(at->second, actor);
    return course ? verdict.courses[static_cast<size_t>(course - at->second.courses.data())] : verdict.process;
  }

 private:
  struct Verdict {
    bool process = false;
    std::vector<bool> courses;
  };

  bool spread() {
    bool changed = false;
    const auto is_alive = [this](const Actor& actor) { return alive(actor); };
    for (const auto& [process, state] : states_) {
      Verdict& v = verdicts_[process];
      for (size_t i = 0; i < state.courses.size(); ++i)
        if (!v.courses[i] && state.courses[i].needs.holds_in_part(is_alive)) v.courses[i] = changed = true;
      if (v.process) continue;
      for (const BlockedThread& thread : state.threads)
        if (thread.needs.holds(is_alive)) v.process = changed = true;
    }
    return changed;
  }

  const States& states_;
  const bool unknown_;
  std::map<int, Verdict> verdicts_;
};

}  // namespace

std::vector<int> dead_processes(const States& states) {
  const Judgement judgement(states, true);
  std::vector<int> dead;
  for (const auto& [process, state] : states)
    if (!judgement.alive({process})) dead.push_back(process);
  return dead;
}

std::vector<int> unknown_to(const States& states, int process) {
  if (Judgement(states, false).alive({process})) return {};  // by those that are known
  std::set<int> unknown;
  std::set<const Condition*> looked_at;
  std::vector<const Condition*> open;
  const auto needs_of = [&](const Condition& needs) {
    if (looked_at.insert(&needs).second) open.push_back(&needs);
  };
  const auto threads_of = [&](const ProcessState& state) {
    if (state.blocked)
      for (const BlockedThread& thread : state.threads) needs_of(thread.needs);
  };
  const auto own = states.find(process);
  if (own == states.end()) return {process};
  threads_of(own->second);
  while (!open.empty()) {
    const Condition& needs = *open.back();
    open.pop_back();
    needs.each_actor([&](const Actor& actor) {
      const auto at = states.find(actor.process);
      if (at == states.end()) {
        unknown.insert(actor.process);
      } else if (const Course* course = actor.is_process() ? nullptr : course_of(at->second, actor)) {
        needs_of(course->needs);
      } else {
        threads_of(at->second);
      }
    });
  }
  return {unknown.begin(), unknown.end()};
}

Circle circle_from(const States& states, int dead) {
  const Judgement judgement(states, true);
  std::vector<Actor> path{{dead}};
  for (;;) {
    const Actor& at = path.back();
    const ProcessState& state = states.at(at.process);
    const Course* course = at.is_process() ? nullptr : course_of(state, at);
    const Condition* needs = course ? &course->needs : !state.threads.empty() ? &state.threads.front().needs : nullptr;
    const Actor* culprit = needs ? needs->culprit([&](const Actor& actor) { return judgement.alive(actor); }) : nullptr;
    if (!culprit) return {{at.process}, false};
    const bool under_way = !culprit->is_process() && course_of(states.at(culprit->process), *culprit);
    const Actor next = under_way ? *culprit : Actor{culprit->process};
    const auto before = std::ranges::find(path, next);
    if (before == path.end()) {
      path.push_back(next);
      continue;
    }
    std::vector<int> processes;
    for (auto a = before; a != path.end(); ++a)
      if (processes.empty() || processes.back() != a->process) processes.push_back(a->process);
    while (processes.size() > 1 && processes.front() == processes.back()) processes.pop_back();
    return {std::move(processes), true};
  }
}

// ---- on the wire

void ProcessState::write(Bytes& to) const {
  put(to, static_cast<uint8_t>(blocked | moving << 1 | ended << 2));
  put(to, epoch);
  put(to, still_ms);
  put(to, static_cast<uint32_t>(threads.size()));
  for (const BlockedThread& thread : threads) {
    thread.needs.write(to);
    for (const std::string* text : {&thread.call, &thread.host, &thread.module}) put_text(to, *text);
    put(to, thread.offset);
    put(to, thread.context);
    put(to, thread.serial);
    put(to, thread.signature);
  }
  put(to, static_cast<uint32_t>(courses.size()));
  for (const Course& course : courses) {
    put(to, course.context);
    put(to, course.serial);
    course.needs.write(to);
  }
  put(to, static_cast<uint32_t>(traffic.size()));
  for (const PeerTraffic& t : traffic) put(to, t);
  put(to, static_cast<uint32_t>(lying.size()));
  for (const Lying& l : lying) {
    put(to, l.context);
    put(to, l.bytes);
    put(to, l.process);
    put(to, l.rank);
    put(to, l.tag);
    put(to, l.count);
    put(to, l.pattern);
    put_text(to, l.comm);
    put_text(to, l.why);
    put_text(to, l.founds);
  }
}

void ProcessState::renumber(const std::map<int, int>& numbers) {
  const auto number = [&](int process) {
    const auto at = numbers.find(process);
    return at == numbers.end() ? -1 : at->second;
  };
  for (BlockedThread& thread : threads) thread.needs.renumber(number);
  for (Course& course : courses) course.needs.renumber(number);
  for (PeerTraffic& t : traffic) t.peer = number(t.peer);
  std::erase_if(traffic, [](const PeerTraffic& t) { return t.peer < 0; });
  std::ranges::sort(traffic, {}, &PeerTraffic::peer);
  for (Lying& l : lying) l.process = number(l.process);
  std::erase_if(lying, [](const Lying& l) { return l.process < 0; });
}

bool ProcessState::read(std::span<const std::byte>& from) {
  uint8_t flags;
  uint32_t count;
  if (!get(from, flags) || !get(from, epoch) || !get(from, still_ms)) return false;
  blocked = flags & 1;
  moving = flags & 2;
  ended = flags & 4;
  if (!get(from, count) || count > from.size()) return false;
  threads.assign(count, {});
  for (BlockedThread& thread : threads)
    if (!thread.needs.read(from) || !get_text(from, thread.call) || !get_text(from, thread.host) ||
        !get_text(from, thread.module) || !get(from, thread.offset) || !get(from, thread.context) ||
        !get(from, thread.serial) || !get(from, thread.signature))
      return false;
  if (!get(from, count) || count > from.size()) return false;
  courses.assign(count, {});
  for (Course& course : courses)
    if (!get(from, course.context) || !get(from, course.serial) || !course.needs.read(from)) return false;
  if (!get(from, count) || count > from.size()) return false;
  traffic.assign(count, {});
  for (PeerTraffic& t : traffic)
    if (!get(from, t)) return false;
  if (!get(from, count) || count > from.size()) return false;
  lying.assign(count, {});
  for (Lying& l : lying)
    if (!get(from, l.context) || !get(from, l.bytes) || !get(from, l.process) || !get(from, l.rank) ||
        !get(from, l.tag) || !get(from, l.count) || !get(from, l.pattern) || !get_text(from, l.comm) ||
        !get_text(from, l.why) || !get_text(from, l.founds))
      return false;
  return true;
}

}  // namespace tutti::contract
