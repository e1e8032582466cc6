// SPDX-License-Identifier: BSD-3-Clause
// Who may speak to this process over the network, and what becomes of it where somebody has spoken who should not
// (ucx/ucx_guard.hpp).
#pragma once

#include <functional>
#include <string>

namespace tutti::transport {

// Before a transport is opened, once. UCX has aborted, in whatever thread, maybe within a call of it: `tell` should not
// return. Where nobody has said what to do, the process says the sentence as an error and aborts.
void when_broken(std::function<void(const std::string& sentence)> tell);
// By itself a process hears this user's and root's processes alone, as far as they are on this machine. A job of another
// user is being connected with: from here on all may come.
void let_in_other_users();

}  // namespace tutti::transport
