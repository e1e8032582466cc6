// SPDX-License-Identifier: BSD-3-Clause
// Looks at the ranks of this node: what each is doing, from its flight record (base/flight.hpp),
// which is found through /proc and read without the rank's help, and from the kernel.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "launcher/data/rank_view.hpp"

namespace tutti::launcher {

// Takes from all texts what a terminal would obey: they are the program's, or come over a wire.
void make_printable(RankView& view);

// All ranks of this (effective) user on this node, of the jobs whose name contains `job`; by job and rank.
std::vector<RankView> look_at_ranks(const std::string& job, const std::vector<int>& records_of = {});

// The calls of MPI that a rank has made so far, those that only look left out, and how many bytes the latest ones name (call_bytes.hpp).
struct RankCalls {
  int64_t calls = 0, bytes_a_call = -1;
};
// Of the ranks of job `job` on this node, by rank.
std::map<int, RankCalls> calls_of_ranks(const std::string& job);

}  // namespace tutti::launcher
