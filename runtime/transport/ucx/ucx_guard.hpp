// SPDX-License-Identifier: BSD-3-Clause
// Who may speak to UCX's tcp ports, and what becomes of the process where somebody has spoken who should not. UCX believes
// whoever knows eight public bytes, and aborts the process at what it cannot understand behind them. It has no setting by
// which a connection would have to prove anything (1.13, 1.18).
#pragma once

namespace tutti::transport {

// Before UCX is opened, any number of times. From here on connections from this machine are taken from this user's and
// root's processes alone, as far as the kernel tells, and an assertion of UCX's that fails ends in what when_broken()
// (guard.hpp) has been given, in place of UCX's own words. Where the user has said what UCX does with errors
// (UCX_HANDLE_ERRORS) UCX does that.
void guard_ucx();

}  // namespace tutti::transport
