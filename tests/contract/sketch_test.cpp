// SPDX-License-Identifier: BSD-3-Clause
// What is judged of processes in few bytes is what is judged of them in full, or less.
#include "contract/sketch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace tutti::contract {
namespace {

using life::Condition;

constexpr int kNobodyKnown = std::numeric_limits<int>::max();

ProcessState waiting(Condition needs) {
  ProcessState state;
  state.blocked = true;
  state.threads.push_back({.needs = std::move(needs)});
  return state;
}

Bytes sketch_of(const States& states, int job_size) {
  Bytes bytes;
  for (const auto& [process, state] : states) write_sketch(process, state, job_size, bytes);
  return bytes;
}

std::vector<int> dead_by_sketch(const States& states, int job_size) {
  Sketches sketches;
  EXPECT_TRUE(read_sketches(sketch_of(states, job_size), job_size, sketches));
  sketches.graph.solve(kNobodyKnown, sketches.count == job_size);
  return sketches.graph.dead();
}

void add_random(Condition& c, std::minstd_rand& random, int processes, int depth) {
  const int process = static_cast<int>(random() % static_cast<unsigned>(processes));
  switch (random() % (depth > 0 ? 7 : 4)) {
    case 0:
    case 1:
      c.process(process);
      break;
    case 2:
      c.collective(process, 5 + random() % 2, random() % 2);
      break;
    case 3:
      c.some(process, static_cast<int>(random() % static_cast<unsigned>(processes - process + 1)));
      break;
    default:
      random() % 2 ? c.any() : c.all();
      for (auto n = random() % 4; n > 0; --n) add_random(c, random, processes, depth - 1);
      c.end();
  }
}

States random_states(std::minstd_rand& random, int processes) {
  States states;
  for (int p = 0; p < processes; ++p) {
    ProcessState& state = states[p];
    state.blocked = random() % 8 != 0;
    state.moving = random() % 20 == 0;
    for (auto n = 1 + (random() % 4 == 0); state.blocked && n > 0; --n)
      add_random(state.threads.emplace_back().needs, random, processes, 2);
    for (uint32_t serial = 0; serial < 2; ++serial)
      if (random() % 3 == 0) add_random(state.courses.emplace_back(Course{5, serial, {}}).needs, random, processes, 1);
  }
  return states;
}

TEST(Sketch, says_who_is_dead_as_the_whole_does) {
  std::minstd_rand random(3);
  int with_dead = 0;
  for (int round = 0; round < 2000; ++round) {
    const States states = random_states(random, 2 + static_cast<int>(random() % 12));
    const std::vector<int> dead = dead_processes(states);
    ASSERT_EQ(dead_by_sketch(states, static_cast<int>(states.size())), dead) << "round " << round;
    with_dead += !dead.empty();
  }
  EXPECT_GT(with_dead, 200);
}

// Of a large job whose ranks need very many others each: nobody is dead who is not, and where all are, all are seen.
TEST(Sketch, is_short_however_much_a_rank_needs) {
  constexpr int kRanks = 100'000;
  Condition all, any;
  any.any();
  for (int i = 0; i < 1000; ++i) all.process(i * 90), any.process(i * 90);
  any.end();
  for (const Condition& needs : {all, any}) {
    ProcessState state = waiting(needs);
    state.courses.push_back({uint64_t{1} << 62, 1'000'000, needs});
    Bytes bytes;
    write_sketch(99'999, state, kRanks, bytes);
    EXPECT_LE(bytes.size(), 160u);
  }
  States states;
  for (int i = 0; i < 3000; ++i) {
    Condition needs;
    needs.any();
    for (int k = 0; k < 40; ++k) needs.process((i + 7 * k) % 3000);
    states[i] = waiting(needs.end());
  }
  EXPECT_EQ(dead_by_sketch(states, 3000).size(), 3000u);
  states[1500].blocked = false;
  EXPECT_TRUE(dead_by_sketch(states, 3000).empty());
  states.erase(1500);  // it has not been heard of
  EXPECT_TRUE(dead_by_sketch(states, 3000).empty());
}

TEST(Sketch, of_a_rank_that_waits_for_one_other_takes_few_bytes) {
  Bytes bytes;
  write_sketch(70'000, waiting(Condition().process(69'999)), 100'000, bytes);
  EXPECT_LE(bytes.size(), 10u);
  bytes.clear();
  ProcessState in_barrier = waiting(Condition().collective(70'000, 7, 300));
  in_barrier.courses.push_back({7, 300, Condition().collective(60'000, 7, 300)});
  write_sketch(70'000, in_barrier, 100'000, bytes);
  EXPECT_LE(bytes.size(), 24u);
  bytes.clear();
  write_sketch(5, waiting(Condition().some(0, 100'000)), 100'000, bytes);
  EXPECT_LE(bytes.size(), 12u);
}

// Processes of other jobs are alive, or, for the question who needs them, dead.
TEST(Sketch, knows_who_needs_another_job) {
  const States states{{0, waiting(Condition().process(1))},
                      {1, waiting(Condition().any().process(0).process(7).end())},
                      {2, waiting(Condition().some(1, 4))}};  // 1, 2, and two of another job
  for (const bool are_alive : {true, false}) {
    Sketches sketches;
    ASSERT_TRUE(read_sketches(sketch_of(states, 3), 3, sketches));
    EXPECT_EQ(sketches.need_others, (std::vector{1, 2}));
    sketches.graph.solve(are_alive ? kNobodyKnown : 3, true);
    EXPECT_EQ(sketches.graph.dead().size(), are_alive ? 0u : 3u);
  }
}

TEST(Sketch, refuses_what_is_none) {
  const Bytes bytes = sketch_of({{0, waiting(Condition().any().process(1).all().process(2).end().end())}}, 4);
  for (size_t n = 1; n < bytes.size(); ++n) {
    Sketches sketches;
    EXPECT_FALSE(read_sketches(std::span(bytes).first(n), 4, sketches)) << n;
  }
}

}  // namespace
}  // namespace tutti::contract
