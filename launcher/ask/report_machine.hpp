// SPDX-License-Identifier: BSD-3-Clause
// What `tutti report` says of the machine: each function prints, and what cannot be read is named.
#pragma once

namespace tutti::launcher {

int print_machine();   // kernel, distribution, processor, memory, container
int print_limits();    // of control groups, and of this process
int print_networks();  // devices and their state, without addresses

}  // namespace tutti::launcher
