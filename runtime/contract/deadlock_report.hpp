// SPDX-License-Identifier: BSD-3-Clause
// A deadlock in words: who waits for whom, each with its call and the place in its program.
#pragma once

#include "contract/report.hpp"
#include "contract/standstill.hpp"

namespace tutti::life {
struct Blocked;
}

namespace tutti::contract {

// The job's exit code, where a deadlock ends it.
inline constexpr int kDeadlockCode = 86;

// How this process calls those of other jobs; set before there are any.
Others& others_of_process();

// "ranks 0 and 1", "rank 0 and rank 0 of another job on node2"; ascending.
std::string processes_text(const Others& others, const std::vector<int>& processes);

// What a process tells of one of its blocked threads: from its flight record.
void describe(const life::Blocked& blocked, BlockedThread& thread);

// All but the end, which add_messages() (lying.hpp) writes.
Finding finding_of(const Deadlock& deadlock);

}  // namespace tutti::contract
