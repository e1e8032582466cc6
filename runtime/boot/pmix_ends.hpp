// SPDX-License-Identifier: BSD-3-Clause
// What PMIx tells of the ends of the job's ranks: Tutti's server does so when its node sees one fail, and others' may.
#pragma once

#include <string>

namespace tutti::members {
class Processes;
}

namespace tutti::boot {

// From here on what is told of ranks of the PMIx namespace `job` is reported to `members`, on PMIx's own thread. Between
// PMIx_Init and PMIx_Finalize; any thread. Returns at once: what comes before the server has heard of it is lost, if the
// server does not keep it.
void hear_of_ends(members::Processes& members, const std::string& job);
// No more: when this returns, `members` is not touched.
void hear_of_no_ends();

}  // namespace tutti::boot
