// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/profile/profile_messages.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>

namespace tutti::launcher {
namespace {

using Name = std::tuple<int, int, uint64_t, int, uint32_t>;  // sender, receiver, context, tag, number

struct Sent {
  Name name;
  size_t rank;  // among the profiles
  const ProfileMessage* message;
};

}  // namespace

std::vector<MatchedMessage> matched_messages(const std::vector<RankProfile>& ranks) {
  std::vector<Sent> sent;
  for (size_t r = 0; r < ranks.size(); ++r)
    for (const ProfileMessage& each : ranks[r].timeline.messages)
      if (!each.is_receive)
        sent.push_back({{ranks[r].rank, each.process, each.context, each.tag, each.number}, r, &each});
  std::ranges::sort(sent, {}, &Sent::name);
  std::vector<MatchedMessage> out;
  for (size_t r = 0; r < ranks.size(); ++r) {
    for (const ProfileMessage& each : ranks[r].timeline.messages) {
      if (!each.is_receive) continue;
      const Name name{each.process, ranks[r].rank, each.context, each.tag, each.number};
      const auto found = std::ranges::lower_bound(sent, name, {}, &Sent::name);
      if (found != sent.end() && found->name == name) out.push_back({found->rank, r, found->message, &each});
    }
  }
  return out;
}

}  // namespace tutti::launcher
