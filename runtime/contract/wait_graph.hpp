// SPDX-License-Identifier: BSD-3-Clause
// Who waits in vain, judged at once for any number of processes: a graph of ANDs and ORs, along which being alive spreads
// from those that can act to those that need them. Takes time and memory in proportion to what the conditions name. No
// communication, no clock; what a process is asked, and how its answer travels, is for others.
//
// A process is alive if it can act, or if what one of its threads needs is alive; a collective under way is alive if any
// part of what it needs is. The rest is dead: it waits for itself.
//
//   rank 0: any of 1, 2 ──> 1: needs 0          2 can act: so 0 is alive, and by 0 so is 1
//                      └──> 2
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "life/condition.hpp"

namespace tutti::contract {

// From one of the dead along what it needs.
struct Circle {
  // Each waits for the next and the last for the first; one may come twice, by way of a collective
  // that it passes on. Not closed: the one that needs what nobody can do.
  std::vector<int> members;
  bool closed = true;
};

class WaitGraph {
 public:
  // life::Condition::some() of so many processes: anybody and any collective will do, whoever it is.
  static constexpr int kAnybody = std::numeric_limits<int>::max();

  // A process; then what its threads need, which are blocked, and the collectives that it has under way.
  void add_process(int process, bool can_act);
  void add_thread(const life::Condition& needs);
  void add_course(uint64_t context, uint32_t serial, const life::Condition& needs, bool can_act = false);
  // After the last one, once. Those that have not been added are alive if their number is below `alive_below`.
  // `is_all`: below that number there is nobody else.
  void solve(int alive_below, bool is_all);

  bool knows(int process) const { return place_of(process) >= 0; }
  bool alive(const life::Actor& actor) const;
  std::vector<int> dead() const;  // ascending
  Circle circle_from(int dead) const;

 private:
  // A part of a formula, or what can be alive: a process, a collective, one of a range. True once nothing is missing.
  struct Node {
    int32_t parent = -1;   // within its formula
    uint32_t missing = 1;  // parts that have to come true yet; of an OR: the first
    int32_t waiters = -1;  // the first of those that wait for it, in waiters_
    bool is_entity = false;
  };
  // A process or a collective. Its leaves are what it needs.
  struct Entity {
    uint32_t node = 0;
    uint32_t first_leaf = 0, end_leaf = 0;  // of a process: those of its first thread
    uint64_t context = 0;
    uint32_t serial = 0;
  };
  struct Known {
    int process = 0;
    uint32_t first_entity = 0, end_entity = 0;  // the process itself, then its collectives
    uint32_t threads = 0;
  };
  struct Leaf {
    life::Actor actor;
    uint32_t parent = 0;  // the node for which it counts
    int32_t range = -1;   // of ranges_: any of its processes
  };
  struct Range {
    int first = 0, count = 0, stride = 1;
    uint32_t node = 0;
  };
  struct Waiter {
    uint32_t node = 0;
    int32_t next = -1;
  };

  uint32_t add_node(int32_t parent, uint32_t missing);
  void add_parts(const life::Condition& needs, uint32_t from, uint32_t to, uint32_t parent);
  int32_t add_range(int first, int count, int stride);
  void come_true(uint32_t node);
  void count_down(uint32_t node);
  void subscribe(const life::Actor& actor, uint32_t waiter);
  void subscribe(const Range& range);
  void wait_for(uint32_t node, uint32_t waiter);
  bool is_true(uint32_t node) const { return nodes_[node].missing == 0; }
  bool is_in_vain(const Leaf& leaf) const;
  int32_t place_of(int process) const {
    const auto at = static_cast<size_t>(process);
    return process >= 0 && at < places_.size() ? places_[at] : -1;
  }
  const Entity* entity_of(const life::Actor& actor) const;  // nullptr: its process is unknown
  const Leaf* culprit_of(const Entity& entity) const;
  life::Actor actor_of(const Leaf& leaf, int self) const;

  int alive_below_ = 0;
  std::vector<Node> nodes_;
  std::vector<Entity> entities_;
  std::vector<Known> known_;
  std::vector<int32_t> places_;  // of known_, by process
  std::vector<Leaf> leaves_;
  std::vector<Range> ranges_;
  std::map<std::tuple<int, int, int>, int32_t> range_of_;
  // Of processes that have so many that a search among them would take long.
  static constexpr uint32_t kFewCourses = 16;
  std::map<std::tuple<uint32_t, uint64_t, uint32_t>, uint32_t> courses_;  // by first entity, context, serial
  std::vector<Waiter> waiters_;
  std::vector<uint32_t> open_;  // have come true, and have not been told on
};

}  // namespace tutti::contract
