// SPDX-License-Identifier: BSD-3-Clause
// Messages of the program's whose two ends both have been kept: sender and receiver call them alike (profile/timeline.hpp).
// Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "launcher/data/rank_profile.hpp"

namespace tutti::launcher {

struct MatchedMessage {
  size_t from, to;  // among the profiles
  const ProfileMessage *sent, *received;
};

// By receiver, and there in the order in which its profile has them. They live as long as the profiles.
std::vector<MatchedMessage> matched_messages(const std::vector<RankProfile>& ranks);

}  // namespace tutti::launcher
