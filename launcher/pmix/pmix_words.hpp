// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace tutti::launcher {

// Before the PMIx library has threads. From here on it does not write to the error stream, in its own words, that it
// cannot send to a rank that has ended: the launcher tells of that end. With --verbose such a line is one of the log.
void leave_ends_to_the_launcher();

}  // namespace tutti::launcher
