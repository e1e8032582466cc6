// SPDX-License-Identifier: BSD-3-Clause
// The call sites of a page: which one a call is of, and what is summed up there. One at a time.
#pragma once

#include <cstdint>

#include "profile/page.hpp"

namespace tutti::profile {

// The place of a site, which is made if need be; the last one if there is no room.
uint32_t site_at(Page& page, uint64_t caller, uint16_t function, uint8_t region);
// A call has ended there.
void sum_up(Site& site, uint64_t ticks);
// It waited for a process; -1: not known for which.
void blame(Site& site, int32_t process, Wait kind, uint64_t ticks);

}  // namespace tutti::profile
