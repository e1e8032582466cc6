// SPDX-License-Identifier: BSD-3-Clause
// Ranks of a node that share cores, evenly over them. Where all of them yield while they wait, the kernel
// sees all of them at work all the time, and leaves five on one core and three on the other: a barrier
// then takes as long as it takes the fuller core to let each of its ranks run once. So a rank that waits
// looks where the others are, and goes where there are fewer. Owns the choice and the move; where a rank
// may run is the user's and the launcher's affair, and is as it was afterwards.
#pragma once

#include <vector>

namespace tutti::transport {

inline constexpr int kNoCpu = -1;

// A CPU of those `allowed` on which at least two fewer ranks are than on `here`, where the caller is: the
// one with the fewest. kNoCpu: it is well where it is. `others`: where the other ranks are; kNoCpu for
// those that sleep.
int better_cpu(int here, const std::vector<int>& others, const std::vector<int>& allowed);

// Of the calling thread: where it is, and where it may be, in order.
int cpu_now();
void find_allowed_cpus(std::vector<int>& cpus);
// Moves it to one of these; it may run on all of them as before. False: the kernel refuses.
bool move_to_cpu(int cpu);

}  // namespace tutti::transport
