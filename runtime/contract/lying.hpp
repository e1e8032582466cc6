// SPDX-License-Identifier: BSD-3-Clause
// Messages that lie unreceived at ranks which wait for others: for the report of a deadlock, since one
// of them mostly is what is waited for, but for its tag, its communicator or its sender.
#pragma once

#include <functional>
#include <vector>

#include "base/engine_owned.hpp"
#include "contract/deadlock.hpp"
#include "contract/report.hpp"
#include "engine/matcher.hpp"

namespace tutti::contract {

struct Others;  // standstill.hpp

// Those of this process, the likest in front. `my_rank`: in the communicator of that context; -1: it is
// not known.
std::vector<Lying> lying_messages(const engine::Matcher& matcher,
                                  const std::function<int(uint64_t context)>& my_rank) TUTTI_ENGINE_OWNED;

// One of process `receiver`, and what its sender says of the call.
struct FoundMessage {
  int receiver = -1;
  Lying message;
  Side sender;
};
// Ends the finding of a deadlock: the details tell of these, or that there are none.
void add_messages(Finding& finding, const std::vector<FoundMessage>& found, const Others& others);

// " on MPI_COMM_WORLD (4 ranks)"; empty where the record has forgotten it.
std::string comm_text(uint64_t context);

}  // namespace tutti::contract
