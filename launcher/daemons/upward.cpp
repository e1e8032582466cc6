// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/daemons/upward.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace tutti::launcher {
namespace {

// mpirun waits three times as long.
constexpr std::chrono::seconds kPatienceOfLook{1};

}  // namespace

Upward::Upward(Loop& loop, int own, Means means)
    : loop_(loop),
      own_(own),
      means_(std::move(means)),
      chorus_(loop,
              [this](const std::vector<int>& nodes, Message type, const Parcel& payload) {
                said_.flush();
                send(nodes, type, payload);
              }),
      answers_(loop, [this](const std::vector<int>& nodes, Message type,
                            const Parcel& payload) { send(nodes, type, payload); }),
      said_(loop, [this](const std::vector<int>& nodes, Message type, const Parcel& payload) {
        send(nodes, type, payload);
      }) {}

void Upward::send(const std::vector<int>& nodes, Message type, const Parcel& payload) {
  if (nodes.size() == 1 && nodes[0] == own_)
    means_.send(type, {}, payload);
  else
    means_.send(Message::relayed, relay_begin(nodes, type, payload), payload);
}

void Upward::takes_part(int node) {
  gatherer_.add_member(node);
  chorus_.add_member(node);
  answers_.add_member(node);
  unfinished_.insert(node);
}

void Upward::is_asked(int node, std::string_view question) {
  Question asked;
  if (!wire::unpack(question, asked) || !asked.together) return;
  if (asked.number != look_.number) {
    look_ = {.number = asked.number};
    look_.patience = loop_.after(kPatienceOfLook, [this] {
      look_.is_late = true;
      send_groups();
    });
  }
  look_.missing.insert(node);
}

void Upward::send_groups() {
  if (look_.seen.empty()) return;
  said_.flush();
  std::ranges::sort(look_.seen);
  means_.send(Message::gathered_groups,
              wire::pack(spans_of(std::exchange(look_.seen, {})), look_.number, look_.groups.take()), {});
}

// False: it is no answer to the latest question, or no answer; whoever has asked judges it.
bool Upward::keeps_groups(int node, const Parcel& payload) {
  uint64_t number = 0;
  std::vector<RankGroup> groups;
  if (!wire::unpack(payload.view(), number, groups) || number != look_.number || !are_sound(groups) ||
      look_.missing.erase(node) == 0)
    return false;
  look_.seen.push_back(node);
  for (RankGroup& group : groups) look_.groups.add(std::move(group));
  if (look_.missing.empty() || look_.is_late) send_groups();
  return true;
}

// What one node has said for all.
bool Upward::is_said_before(Message type, const Parcel& payload) {
  if (type == Message::addresses_wanted) return std::exchange(wanted_, std::string(payload.view())) == payload.view();
  return type == Message::rank_aborted && std::exchange(abort_said_, true);
}

void Upward::tell(int node, Message type, const Parcel& payload) {
  if (type == Message::finished && unfinished_.erase(node) == 1 && unfinished_.empty()) {
    said_.flush();
    means_.send(Message::counted, means_.traffic_below(), {});
  }
  if (is_said_before(type, payload)) return;
  if (type == Message::answered) return answers_.put(node, type, payload);
  if (Chorus::sings(type)) return chorus_.put(node, type, payload);
  if (type == Message::grouped && keeps_groups(node, payload)) return;
  if (!gatherer_.keeps(type, payload.view())) {
    // What ranks write may be ahead of how others have ended.
    if (type != Message::output) chorus_.before_other(node);
    return said_.put(node, type, payload);
  }
  const std::optional<Gatherer::Words> all = gatherer_.add(node, payload.view());
  if (!all) return;
  chorus_.flush();
  said_.flush();
  means_.send(Message::gathered, wire::pack(spans_of(all->nodes), all->key, all->data, all->addresses), {});
}

void Upward::flush() {
  answers_.flush();
  chorus_.flush();
  said_.flush();
}

}  // namespace tutti::launcher
