// SPDX-License-Identifier: BSD-3-Clause
#include "contract/deadlock.hpp"

#include <algorithm>
#include <limits>
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

}  // namespace

WaitGraph graph_of(const States& states, bool unknown_are_alive) {
  WaitGraph graph;
  for (const auto& [process, state] : states) {
    graph.add_process(process, !state.blocked || state.moving);
    for (const BlockedThread& thread : state.threads) graph.add_thread(thread.needs);
    for (const Course& course : state.courses)
      graph.add_course(course.context, course.serial, course.needs, state.moving);
  }
  graph.solve(unknown_are_alive ? std::numeric_limits<int>::max() : 0, false);
  return graph;
}

std::vector<int> dead_processes(const States& states) {
  return graph_of(states, true).dead();
}

Circle circle_from(const States& states, int dead) {
  return graph_of(states, true).circle_from(dead);
}

bool are_messages_under_way(const States& states, std::span<const int> among) {
  uint32_t sent = 0, received = 0;
  for (const int process : among) {
    sent += states.at(process).sent;
    received += states.at(process).received;
  }
  return sent != received;
}

// ---- whom to ask

void Search::begin(const States& states, int process) {
  *this = {};
  states_ = &states;
  reach({process});
  look();
}

void Search::add(int process) {
  const auto at = unknown_.find(process);
  if (at == unknown_.end()) return;
  const std::vector<Actor> needed = std::move(at->second);
  unknown_.erase(at);
  for (const Actor& actor : needed) reach(actor);
  look();
}

int Search::next() {
  while (!to_ask_.empty()) {
    const int process = to_ask_.front();
    to_ask_.pop_front();
    if (unknown_.contains(process)) return process;
  }
  return -1;
}

void Search::reach(const Actor& actor) {
  const auto at = states_->find(actor.process);
  if (at == states_->end()) {
    std::vector<Actor>& needed = unknown_[actor.process];
    if (needed.empty()) to_ask_.push_back(actor.process);
    if (std::ranges::find(needed, actor) == needed.end()) needed.push_back(actor);
    return;
  }
  const Course* const course = actor.is_process() ? nullptr : course_of(at->second, actor);
  if (!reached_.emplace(actor.process, course ? course->context : 0, course ? course->serial : 0).second) return;
  if (course) return open_.push_back(&course->needs);
  if (!at->second.blocked) return;
  for (const BlockedThread& thread : at->second.threads) open_.push_back(&thread.needs);
}

void Search::look() {
  while (!open_.empty()) {
    const Condition& needs = *open_.back();
    open_.pop_back();
    for (const Condition::Node& node : needs.nodes()) {
      if (node.kind == Condition::Kind::actor) reach(node.actor);
      if (node.kind != Condition::Kind::some) continue;
      if (!ranges_.emplace(node.actor.process, node.count, node.stride).second) continue;
      for (uint32_t i = 0; i < node.count; ++i) reach(Actor{node.process(i)});
    }
  }
}

// ---- on the wire

void ProcessState::write(Bytes& to) const {
  put(to, static_cast<uint8_t>(blocked | moving << 1 | ended << 2));
  put(to, epoch);
  put(to, sent);
  put(to, received);
  put(to, static_cast<uint32_t>(threads.size()));
  for (const BlockedThread& thread : threads) {
    thread.needs.write(to);
    const bool is_described = !thread.host.empty() || !thread.call.empty() || !thread.module.empty() || thread.context;
    put(to, static_cast<uint8_t>(is_described));
    if (!is_described) continue;
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
  for (Lying& l : lying) l.process = number(l.process);
  std::erase_if(lying, [](const Lying& l) { return l.process < 0; });
}

void ProcessState::spell_out() {
  for (BlockedThread& thread : threads) thread.needs = thread.needs.spelled_out();
  for (Course& course : courses) course.needs = course.needs.spelled_out();
}

bool ProcessState::read(std::span<const std::byte>& from) {
  uint8_t flags;
  uint32_t count;
  if (!get(from, flags) || !get(from, epoch) || !get(from, sent) || !get(from, received)) return false;
  blocked = flags & 1;
  moving = flags & 2;
  ended = flags & 4;
  if (!get(from, count) || count > from.size()) return false;
  threads.assign(count, {});
  for (BlockedThread& thread : threads) {
    uint8_t is_described = 0;
    if (!thread.needs.read(from) || !get(from, is_described)) return false;
    if (is_described && (!get_text(from, thread.call) || !get_text(from, thread.host) ||
                         !get_text(from, thread.module) || !get(from, thread.offset) || !get(from, thread.context) ||
                         !get(from, thread.serial) || !get(from, thread.signature)))
      return false;
  }
  if (!get(from, count) || count > from.size()) return false;
  courses.assign(count, {});
  for (Course& course : courses)
    if (!get(from, course.context) || !get(from, course.serial) || !course.needs.read(from)) return false;
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
