// SPDX-License-Identifier: BSD-3-Clause
// Plans as text.
#include <fmt/format.h>

#include <string_view>

#include "coll/plan.hpp"

namespace tutti::coll {

std::string to_string(const Buf& b) {
  switch (b.unit) {
    case Unit::in_block:
      return fmt::format("in{{{}}}", b.index);
    case Unit::out_block:
      return fmt::format("out{{{}}}", b.index);
    default:
      break;
  }
  const char* unit = b.unit == Unit::bytes ? " B" : b.unit == Unit::packed ? " B packed" : "";
  std::string name = b.region == Region::input    ? "in"
                     : b.region == Region::output ? "out"
                     : b.region == Region::shared ? fmt::format("slot{}.{}", b.index, b.rank)
                                                  : fmt::format("scratch{}", b.index);
  if (b.count < 0) return name;
  return fmt::format("{}[{}..{}{}]", name, b.offset, b.offset + b.count, unit);
}

namespace {

std::string to_string(const Step& s) {
  switch (s.kind) {
    case Step::Kind::send:
      return fmt::format("send {} to {} #{}", to_string(s.from), s.peer, s.slot);
    case Step::Kind::recv:
      return fmt::format("recv {} from {} #{}", to_string(s.into), s.peer, s.slot);
    case Step::Kind::reduce:
      return fmt::format("reduce {} op {}", to_string(s.from), to_string(s.into));
    case Step::Kind::copy:
      return fmt::format("copy {} to {}", to_string(s.from), to_string(s.into));
    case Step::Kind::show:
      return fmt::format("show {} in {} or to {} #{}", to_string(s.from), to_string(s.into), s.peer, s.slot);
    case Step::Kind::expect:
      return fmt::format("expect {} from {} #{}", to_string(s.into), s.peer, s.slot);
    case Step::Kind::take:
      return fmt::format("take {} from {} or from {} #{}", to_string(s.into), to_string(s.from), s.peer, s.slot);
    case Step::Kind::join:
      return "join";
    case Step::Kind::loop:
      return fmt::format("loop {}", s.slot);
    case Step::Kind::claim:
      return fmt::format("claim slot{}", s.slot);
    case Step::Kind::publish:
      return s.peer < 0 ? fmt::format("publish slot{}", s.slot) : fmt::format("publish slot{} to {}", s.slot, s.peer);
    case Step::Kind::await:
      return s.peer < 0 ? fmt::format("await slot{} of all", s.slot)
                        : fmt::format("await slot{} of {}", s.slot, s.peer);
    case Step::Kind::leave:
      return fmt::format("leave slot{}", s.slot);
    case Step::Kind::linger:
      return "linger";
  }
  return {};
}

// What grows from trip to trip: " | to +1, offset +8".
std::string to_string(const Loop::Growths& g, bool in_rows) {
  std::string text;
  const auto tell = [&](std::string_view what, const Loop::Growth& growth) {
    if (growth == Loop::Growth{}) return;
    text += fmt::format("{}{} {:+}", text.empty() ? " | " : ", ", what, growth.along);
    if (in_rows) text += fmt::format(" {:+}", growth.across);
  };
  tell("peer", g.peer);
  tell("#", g.slot);
  tell("from", g.from_index);
  tell("from offset", g.from_offset);
  tell("into", g.into_index);
  tell("into offset", g.into_offset);
  return text;
}

// By step: those that it waits for.
std::vector<std::vector<uint32_t>> leaders_of(const Graph& graph) {
  std::vector<std::vector<uint32_t>> leaders(graph.steps.size());
  for (uint32_t i = 0; i < graph.steps.size(); ++i)
    for (uint32_t f = graph.first_follower[i]; f < graph.first_follower[i + 1]; ++f)
      leaders[graph.followers[f]].push_back(i);
  return leaders;
}

std::string to_string(const Loop& loop, std::string_view number) {
  const bool in_rows = loop.row < loop.trips;
  const std::vector<std::vector<uint32_t>> leaders = leaders_of(loop);
  std::string text;
  for (uint32_t i = 0; i < loop.steps.size(); ++i) {
    text += fmt::format("{:>4}.{} {}{}", number, i, to_string(loop.steps[i]), to_string(loop.growths[i], in_rows));
    if (!leaders[i].empty()) text += fmt::format(" after .{}", fmt::join(leaders[i], " ."));
    for (const Loop::Carried& c : loop.carried)
      if (c.to == i) text += fmt::format(" after .{} of {} trip{} before", c.from, c.trips, c.trips == 1 ? "" : "s");
    text += '\n';
  }
  return text;
}

}  // namespace

std::string to_string(const Plan& plan) {
  const std::vector<std::vector<uint32_t>> leaders = leaders_of(plan);
  std::string text;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& s = plan.steps[i];
    text += fmt::format("{:4} ", i);
    if (s.kind == Step::Kind::loop) {
      const Loop& loop = plan.loops[static_cast<size_t>(s.slot)];
      text += fmt::format("{} trips", loop.trips);
      if (loop.row < loop.trips) text += fmt::format(" in rows of {}", loop.row);
      if (!plan.is_program()) text += fmt::format(", {} at once", loop.seats);
    } else {
      text += to_string(s);
    }
    if (!leaders[i].empty()) text += fmt::format(" after {}", fmt::join(leaders[i], " "));
    text += '\n';
    if (s.kind == Step::Kind::loop) text += to_string(plan.loops[static_cast<size_t>(s.slot)], std::to_string(i));
  }
  return text;
}

}  // namespace tutti::coll
