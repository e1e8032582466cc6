// SPDX-License-Identifier: BSD-3-Clause
// Who waits in vain, on graphs written by hand and on random ones against a direct evaluation.
#include "contract/deadlock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "contract/relay.hpp"

namespace tutti::contract {
namespace {

using life::Actor;
using life::Condition;

ProcessState computing() {
  return {};
}
ProcessState waiting(Condition needs) {
  ProcessState state;
  state.blocked = true;
  state.threads.push_back({.needs = std::move(needs), .call = "waits"});
  return state;
}
Condition on(int process) {
  return Condition().process(process);
}
Condition on_any(const std::vector<int>& processes) {
  Condition c;
  c.any();
  for (const int p : processes) c.process(p);
  return c.end();
}
Condition on_all(const std::vector<int>& processes) {
  Condition c;
  for (const int p : processes) c.process(p);
  return c;
}

TEST(Deadlock, two_that_wait_for_each_other) {
  const States states{{0, waiting(on(1))}, {1, waiting(on(0))}, {2, computing()}};
  EXPECT_EQ(dead_processes(states), (std::vector{0, 1}));
  EXPECT_EQ(circle_from(states, 0).members, (std::vector{0, 1}));
}

TEST(Deadlock, a_chain_that_ends_at_one_who_computes) {
  EXPECT_TRUE(dead_processes({{0, waiting(on(1))}, {1, waiting(on(2))}, {2, computing()}}).empty());
}

TEST(Deadlock, who_is_unknown_counts_as_alive_and_is_asked_for) {
  EXPECT_TRUE(dead_processes({{0, waiting(on(1))}}).empty());
  States states{{0, waiting(on_all({1, 7}))}, {3, waiting(on(9))}};
  Search search;
  search.begin(states, 0);
  EXPECT_EQ(search.next(), 1);
  EXPECT_EQ(search.next(), 7);
  EXPECT_EQ(search.next(), -1);
  states[1] = waiting(on_all({0, 5}));
  search.add(1);
  EXPECT_EQ(search.next(), 5);
  states[7] = computing();
  search.add(7);
  states[5] = waiting(on(3));
  search.add(5);
  EXPECT_EQ(search.next(), 9);  // whom 3 needs, which was known before
  states[9] = waiting(Condition().some(8, 3));
  search.add(9);
  EXPECT_EQ(search.next(), 8);
  EXPECT_EQ(search.next(), 10);
  EXPECT_EQ(search.next(), -1);
}

// A collective that is under way needs other processes than the thread does.
TEST(Deadlock, what_is_needed_of_a_process_decides_whom_it_is_asked_about) {
  ProcessState one = waiting(on(2));
  one.courses.push_back({9, 4, Condition().collective(3, 9, 4)});
  States states{{0, waiting(Condition().collective(1, 9, 4))}};
  Search search;
  search.begin(states, 0);
  EXPECT_EQ(search.next(), 1);
  states[1] = one;
  search.add(1);
  EXPECT_EQ(search.next(), 3);
  EXPECT_EQ(search.next(), -1);
}

TEST(Deadlock, or_needs_one_and_needs_all) {
  States states{{0, waiting(on_any({1, 2}))}, {1, waiting(on(0))}, {2, computing()}};
  EXPECT_TRUE(dead_processes(states).empty());
  states[2] = waiting(on(1));
  EXPECT_EQ(dead_processes(states), (std::vector{0, 1, 2}));
  states[0] = waiting(on_all({1, 2}));
  states[2] = computing();
  EXPECT_EQ(dead_processes(states), (std::vector{0, 1}));
}

TEST(Deadlock, what_nobody_can_do) {
  const States states{{0, waiting(Condition().never())}, {1, waiting(on(0))}};
  EXPECT_EQ(dead_processes(states), (std::vector{0, 1}));
  EXPECT_FALSE(circle_from(states, 1).closed);
  EXPECT_EQ(circle_from(states, 1).members, (std::vector{0}));
  EXPECT_TRUE(dead_processes({{0, waiting(Condition().always())}}).empty());
}

TEST(Deadlock, for_itself) {
  const States states{{3, waiting(on(3))}};
  EXPECT_EQ(dead_processes(states), (std::vector{3}));
  EXPECT_EQ(circle_from(states, 3).members, (std::vector{3}));
}

TEST(Deadlock, nothing_is_dead_while_bytes_move) {
  States states{{0, waiting(on(1))}, {1, waiting(on(0))}};
  EXPECT_EQ(dead_processes(states), (std::vector{0, 1}));
  states[1].moving = true;
  EXPECT_TRUE(dead_processes(states).empty());
}

TEST(Deadlock, messages_that_are_under_way_are_seen_in_the_sums) {
  States states{{0, waiting(on(1))}, {1, waiting(on(0))}, {5, computing()}};
  states[0].sent = 4, states[0].received = 7;
  states[1].sent = 7, states[1].received = 3;
  states[5].sent = 9;
  const std::vector<int> among{0, 1};
  EXPECT_TRUE(are_messages_under_way(states, among));
  states[1].received = 4;
  EXPECT_FALSE(are_messages_under_way(states, among));
  states[0].sent = 3, states[0].received = ~uint32_t{0};  // their counts may have gone round
  EXPECT_EQ(states[0].sent + states[1].sent - (states[0].received + states[1].received), 7u);
  EXPECT_TRUE(are_messages_under_way(states, among));
}

TEST(Deadlock, one_of_two_threads_may_act) {
  ProcessState two = waiting(on(1));
  two.threads.push_back({.needs = on(2), .call = "waits"});
  EXPECT_TRUE(dead_processes({{0, two}, {1, waiting(on(0))}, {2, computing()}}).empty());
  EXPECT_EQ(dead_processes({{0, two}, {1, waiting(on(0))}, {2, waiting(on(0))}}), (std::vector{0, 1, 2}));
}

// 0 has started a broadcast, whose root 2 computes, and receives from 1, who waits for the
// broadcast, which 0 passes on: legal. With the root waiting for 0 as well it is not.
TEST(Deadlock, a_collective_goes_on_without_its_thread) {
  ProcessState zero = waiting(on(1));
  zero.courses.push_back({9, 4, Condition().collective(2, 9, 4)});
  ProcessState one = waiting(Condition().collective(0, 9, 4));
  one.courses.push_back({9, 4, Condition().collective(0, 9, 4)});
  States states{{0, zero}, {1, one}, {2, computing()}};
  EXPECT_TRUE(dead_processes(states).empty());
  states[2] = waiting(on(0));
  EXPECT_EQ(dead_processes(states), (std::vector{0, 1, 2}));
  EXPECT_EQ(circle_from(states, 0).members, (std::vector{0, 1, 0, 2}));
}

TEST(Deadlock, a_collective_that_can_still_move_in_part_is_alive) {
  ProcessState zero = waiting(on(1));
  zero.courses.push_back({9, 4, Condition().collective(2, 9, 4).collective(3, 9, 4)});
  const States states{{0, zero}, {1, waiting(Condition().collective(0, 9, 4))}, {2, computing()}, {3, waiting(on(0))}};
  EXPECT_TRUE(dead_processes(states).empty());
}

TEST(Deadlock, states_survive_the_wire) {
  ProcessState state = waiting(Condition().any().process(3).all().process(1).end().end());
  state.moving = true;
  state.epoch = 77;
  state.sent = 3, state.received = 5;
  state.threads[0] = {state.threads[0].needs, "MPI_Recv", "node1", "a.out", 77, 8, 3, 12};
  state.courses.push_back({9, 4, Condition().collective(2, 9, 4)});
  state.threads.push_back({.needs = Condition().some(4, 1000, 2)});
  std::vector<std::byte> bytes, again;
  state.write(bytes);
  ProcessState copy;
  std::span<const std::byte> from(bytes);
  ASSERT_TRUE(copy.read(from));
  EXPECT_TRUE(from.empty());
  copy.write(again);
  EXPECT_EQ(bytes, again);
  for (size_t n = 0; n < bytes.size(); ++n) {
    from = std::span(bytes).first(n);
    EXPECT_FALSE(copy.read(from));
  }
}

// ---- against a direct evaluation: the largest set whose members wait for nothing outside of it

using Random = std::minstd_rand;

void add_random(Condition& c, Random& random, int processes, int depth) {
  const auto pick = random() % (depth > 0 ? 7 : 3);
  const int process = static_cast<int>(random() % static_cast<unsigned>(processes));
  if (pick <= 1) {
    c.process(process);
  } else if (pick == 2) {
    c.collective(process, 5, random() % 2);
  } else if (pick == 6) {
    c.some(process, static_cast<int>(random() % static_cast<unsigned>(processes - process + 1)));
  } else {
    pick % 2 ? c.any() : c.all();
    for (auto n = random() % 4; n > 0; --n) add_random(c, random, processes, depth - 1);
    c.end();
  }
}

States random_states(Random& random, int processes) {
  States states;
  for (int p = 0; p < processes; ++p) {
    ProcessState& state = states[p];
    state.blocked = random() % 5 != 0;
    for (auto n = 1 + (random() % 4 == 0); state.blocked && n > 0; --n) {
      state.threads.emplace_back();
      add_random(state.threads.back().needs, random, processes, 2);
    }
    for (uint32_t serial = 0; serial < 2; ++serial) {
      if (random() % 3) continue;
      Condition needs;
      for (auto n = 1 + random() % 2; n > 0; --n)
        needs.collective(static_cast<int>(random() % static_cast<unsigned>(processes)), 5, random() % 2);
      state.courses.push_back({5, serial, needs});
    }
  }
  return states;
}

// Every actor has a bit; `set` is those that are said to be dead.
bool consistent(const States& states, const std::vector<Actor>& actors, unsigned set) {
  const auto alive = [&](const Actor& wanted) {
    for (size_t i = 0; i < actors.size(); ++i)
      if (actors[i] == wanted) return !(set >> i & 1);
    for (size_t i = 0; i < actors.size(); ++i)  // not under way: up to the threads
      if (actors[i] == Actor{wanted.process}) return !(set >> i & 1);
    return true;
  };
  for (size_t i = 0; i < actors.size(); ++i) {
    if (!(set >> i & 1)) continue;
    const ProcessState& state = states.at(actors[i].process);
    if (actors[i].is_process()) {
      if (!state.blocked) return false;
      for (const BlockedThread& thread : state.threads)
        if (thread.needs.holds(alive)) return false;
    }
    for (const Course& course : state.courses)
      if (course.context == actors[i].context && course.serial == actors[i].serial && course.needs.holds_in_part(alive))
        return false;
  }
  return true;
}

TEST(Deadlock, agrees_with_the_definition_on_random_graphs) {
  Random random(20);
  int with_dead = 0;
  for (int round = 0; round < 4000; ++round) {
    const int processes = 2 + static_cast<int>(random() % 3);
    const States states = random_states(random, processes);
    std::vector<Actor> actors;
    for (const auto& [process, state] : states) {
      actors.push_back({process});
      for (const Course& course : state.courses) actors.push_back({process, course.context, course.serial});
    }
    unsigned largest = 0;  // consistent sets are closed under union
    for (unsigned set = 1; set < 1u << actors.size(); ++set)
      if (consistent(states, actors, set)) largest |= set;
    std::vector<int> expected;
    for (size_t i = 0; i < actors.size(); ++i)
      if ((largest >> i & 1) && actors[i].is_process()) expected.push_back(actors[i].process);
    ASSERT_EQ(dead_processes(states), expected) << "round " << round;
    States spelled_out = states;
    for (auto& [process, state] : spelled_out) state.spell_out();
    ASSERT_EQ(dead_processes(spelled_out), expected) << "round " << round;
    with_dead += !expected.empty();
    if (expected.empty()) continue;
    for (const int member : circle_from(states, expected.front()).members)
      EXPECT_TRUE(std::ranges::count(expected, member) ||
                  !states.at(member).courses.empty());  // through a collective of one that is alive
  }
  EXPECT_GT(with_dead, 500);
  EXPECT_LT(with_dead, 3500);
}

// From everybody to everybody, by few hops, and by few connections of each rank in either direction.
TEST(Relay, reaches_all_by_few_connections) {
  for (const int ranks : {2, 3, 4, 7, 8, 31, 32, 33, 100}) {
    const int most = std::bit_width(static_cast<unsigned>(ranks - 1));
    std::vector<std::set<int>> to(static_cast<size_t>(ranks)), from(static_cast<size_t>(ranks));
    for (int first = 0; first < ranks; ++first)
      for (int last = 0; last < ranks; ++last) {
        int hops = 0;
        for (int at = first; at != last; ++hops) {
          const int next = next_hop(at, last, ranks);
          ASSERT_TRUE(next >= 0 && next < ranks && next != at);
          to[static_cast<size_t>(at)].insert(next);
          from[static_cast<size_t>(next)].insert(at);
          at = next;
          ASSERT_LE(hops, most) << first << " to " << last << " of " << ranks;
        }
      }
    for (const auto& each : to) EXPECT_LE(static_cast<int>(each.size()), most) << ranks;
    for (const auto& each : from) EXPECT_LE(static_cast<int>(each.size()), most) << ranks;
  }
}

}  // namespace
}  // namespace tutti::contract
