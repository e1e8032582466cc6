// SPDX-License-Identifier: BSD-3-Clause
// A deadlock in words: who waits for whom, each with its call and the place in its program.
#pragma once

#include "contract/report.hpp"
#include "contract/standstill.hpp"

namespace tutti::contract {

// The job's exit code, where a deadlock ends it.
inline constexpr int kDeadlockCode = 86;

// What a process tells of one of its blocked threads: from its flight record.
void describe(const engine::Blocked& blocked, BlockedThread& thread);

// All but the end, which add_messages() (lying.hpp) writes.
Finding finding_of(const Deadlock& deadlock);

}  // namespace tutti::contract
