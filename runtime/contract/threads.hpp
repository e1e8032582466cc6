// SPDX-License-Identifier: BSD-3-Clause
// Whether any thread of this process may still act while others stand in blocking calls: it may
// make the call that they wait for. Errs on the side of "it may".
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tutti::contract {

// Every thread of this process but the library's own (base/os/own_threads.hpp) is among `waiting` (the kernel's ids), or
// sleeps until another thread of this process wakes it: waits without a time for a lock of its own, or joins. One that
// sleeps for a word in `queue` is on its way into a call.
bool none_may_act_but(const std::vector<int>& waiting, std::span<const std::byte> queue);

}  // namespace tutti::contract
