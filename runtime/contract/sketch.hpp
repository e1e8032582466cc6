// SPDX-License-Identifier: BSD-3-Clause
// What a process does and needs, in the few bytes of which one process can take those of a hundred thousand: enough to
// see who may wait in vain, and nothing of what a report says. Mostly it is 10 to 30 bytes, and 100 or so where the
// job is large and the process needs very many: then less is said than is known, and always so that it counts as alive
// rather than not. Who is sketched as one that waits in vain is asked in full (contract/standstill.hpp) before anything
// is said.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "contract/deadlock.hpp"

namespace tutti::contract {

// Adds the process' own, unless it can act and has no collective under way: whoever is not mentioned is alive. Processes
// from `job_size` on are of other jobs, of which no more is said than that.
void write_sketch(int process, const ProcessState& state, int job_size, Bytes& to);

// Any number of them, one behind the other, into a graph.
struct Sketches {
  WaitGraph graph;
  int count = 0;
  std::vector<int> need_others;  // processes that need some of another job
  std::vector<int> ended;        // ascending, once all are read
};
// False: these are none.
bool read_sketches(std::span<const std::byte> from, int job_size, Sketches& sketches);

}  // namespace tutti::contract
