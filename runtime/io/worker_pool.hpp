// SPDX-License-Identifier: BSD-3-Clause
// The threads that read and write while the program computes: a few, and none before there is work
// for them. Jobs of one queue run one after the other, in the order of their coming; those of
// several queues side by side.
#pragma once

#include <deque>
#include <functional>
#include <memory>

namespace tutti::io {

class Queue;

// Runs `job` in a thread of the pool, behind those of `queue` that came before. Any thread.
void submit(const std::shared_ptr<Queue>& queue, std::function<void()> job);
std::shared_ptr<Queue> make_queue();
// Waits until no job is left. Afterwards threads sleep, and touch nothing.
void drain();

}  // namespace tutti::io
