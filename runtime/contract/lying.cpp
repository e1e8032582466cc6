// SPDX-License-Identifier: BSD-3-Clause
#include "contract/lying.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "base/flight.hpp"
#include "contract/deadlock_report.hpp"
#include "contract/founding.hpp"
#include "engine/context.hpp"

namespace tutti::contract {
namespace {

using engine::Match;

constexpr size_t kMostOfProcess = 4;

// How much of what a receive wants a message has.
int likeness(const Match& wanted, const Match& has) {
  const bool same_source = wanted.source == engine::kAnySource || wanted.source == has.source;
  const bool same_tag = wanted.tag == engine::kAnyTag || wanted.tag == has.tag;
  return 4 * (wanted.context == has.context) + 2 * same_source + same_tag;
}

// Messages of partitioned operations come in contexts of their own: that which tells of the operation in its
// communicator's with one bit more, and the partitions in such that have the highest bit as well, which
// communicators that span jobs have, too.
constexpr uint64_t kPartitioned = uint64_t{1} << 62, kPartitions = kPartitioned | uint64_t{1} << 63;

bool is_known(uint64_t context) {
  const flight::Record* record = flight::mine();
  return record && flight::find_comm(*record, context);
}
bool is_partitioned(uint64_t context) {
  return (context & kPartitioned) && is_known(context & ~kPartitioned);
}
bool brings_partitions(uint64_t context) {
  return (context & kPartitions) == kPartitions && !is_partitioned(context);
}
// As if it were an ordinary one.
Match in_its_communicator(Match match) {
  if (is_partitioned(match.context)) match.context &= ~kPartitioned;
  return match;
}

std::string difference_text(Match wanted, Match has) {
  const bool by_partitions = is_partitioned(wanted.context), in_partitions = is_partitioned(has.context);
  wanted = in_its_communicator(wanted);
  has = in_its_communicator(has);
  if (wanted.context == has.context && by_partitions != in_partitions)
    return by_partitions ? "its receive is one of MPI_Precv_init" : "its receive is not one of MPI_Precv_init";
  if (wanted.context != has.context) {
    const std::string where = comm_text(wanted.context);
    return "its receive is" + (where.empty() ? " on another communicator" : where);
  }
  std::string text = "its receive wants one";
  if (wanted.source != engine::kAnySource && wanted.source != has.source)
    text += fmt::format(" from rank {}", wanted.source);
  if (wanted.tag != engine::kAnyTag && wanted.tag != has.tag) text += fmt::format(" with tag {}", wanted.tag);
  return text;
}

// ---- messages by which communicators are made (contract/founding.hpp)

bool founds(const Match& match) {
  return match.context == engine::ContextPool::without_parent() ||
         (engine::is_hidden(match.context) && match.serial >= kLeadersSerial);
}

// What the member has given by which the others are to find it; `bytes` of a message that is here, or of a buffer that
// waits for one and holds until then what its own rank would say.
std::string given_text(const Match& match, const void* data, int64_t bytes) {
  Founding said;
  if (data && bytes == sizeof said) {
    std::memcpy(&said, data, sizeof said);
    said.tag[sizeof said.tag - 1] = 0;
    if (said.mark == Founding::kMark) return said.tag;
  }
  return match.context == engine::ContextPool::without_parent() ? "" : fmt::format("tag {}", match.tag);
}

// Those that a rank waits for from another one that has sent it such a message of another call.
std::vector<Lying> founding_messages(const engine::Matcher& matcher) TUTTI_ENGINE_OWNED {
  std::vector<Lying> messages;
  matcher.each_posted([&](const engine::RecvOperation& receive) TUTTI_ENGINE_OWNED {
    const Match& wanted = receive.match;
    if (!founds(wanted) || messages.size() == kMostOfProcess) return;
    const std::string mine = given_text(wanted, receive.payload.base, receive.payload.bytes());
    matcher.each_unexpected([&](const engine::Unexpected& unexpected) {
      const Match has = unexpected.match();
      const bool is_alike = founds(has) && has.context == wanted.context && has.source == wanted.source &&
                            (has.context == engine::ContextPool::without_parent() || has.serial == wanted.serial);
      if (!is_alike || messages.size() == kMostOfProcess) return;
      const bool is_here = !unexpected.rendezvous && !unexpected.from_self;
      const std::string theirs = given_text(has, is_here ? unexpected.data() : nullptr, unexpected.header.bytes);
      if (mine.empty() || theirs.empty()) return;
      Lying& message = messages.emplace_back();
      message.context = has.context;
      message.bytes = unexpected.header.bytes;
      message.process = unexpected.header.process;
      message.tag = has.tag;
      message.comm = comm_text(has.context & ~uint64_t{1});
      message.why = mine;
      message.founds = theirs;
    });
  });
  return messages;
}

std::string founding_sentence(const FoundMessage& found, const Others& others) {
  const std::string &theirs = found.message.founds, &mine = found.message.why;
  const std::string receiver = processes_text(others, {found.receiver}),
                    sender = processes_text(others, {found.message.process});
  if (mine == theirs)
    return fmt::format("{} and {} each make a communicator with {}{}, of other groups: all members give one group",
                       receiver, sender, mine, found.message.comm);
  return fmt::format("{} makes a communicator with {} where {} makes one with {}{}: all members give the same",
                     receiver, mine, sender, theirs, found.message.comm);
}

}  // namespace

std::string comm_text(uint64_t context) {
  const flight::Record* record = flight::mine();
  const auto comm = record ? flight::find_comm(*record, context) : std::nullopt;
  if (!comm) return "";
  const std::string ranks = flight::ranks_text(*comm);
  if (comm->name[0]) return fmt::format(" on {} ({})", comm->name, ranks);
  return fmt::format(" on {} of {} made by {}", flight::product_of(comm->function), ranks,
                     flight::name_of_function(comm->function));
}

std::vector<Lying> lying_messages(const engine::Matcher& matcher, const std::function<int(uint64_t context)>& my_rank) {
  std::vector<Match> receives;
  matcher.each_posted([&](const engine::RecvOperation& receive) {
    const uint64_t context = receive.match.context;
    if (!engine::is_hidden(context) && !brings_partitions(context)) receives.push_back(receive.match);
  });
  struct Kind {
    Match match;
    Lying message;
    uint32_t order = 0;  // of the first
  };
  std::map<std::tuple<uint64_t, int32_t, int32_t>, Kind> kinds;
  matcher.each_unexpected([&](const engine::Unexpected& unexpected) {
    const transport::Header& h = unexpected.header;
    if (engine::is_hidden(h.context) || brings_partitions(h.context)) return;
    const auto [at, is_new] = kinds.try_emplace({h.context, h.source, h.tag});
    Kind& kind = at->second;
    if (!is_new) ++kind.message.count;
    if (!is_new && static_cast<int32_t>(h.order - kind.order) > 0) return;
    kind.match = unexpected.match();
    kind.order = h.order;
    kind.message.context = h.context;
    kind.message.bytes = h.bytes;
    kind.message.process = h.process;
    kind.message.tag = h.tag;
    kind.message.pattern = h.pattern;
  });
  const auto likest = [&](const Match& has) {
    return std::ranges::max_element(receives, {}, [&](const Match& wanted) {
      return likeness(in_its_communicator(wanted), in_its_communicator(has));
    });
  };
  std::vector<const Kind*> sorted;
  for (const auto& [key, kind] : kinds) sorted.push_back(&kind);
  std::ranges::stable_sort(sorted, std::greater(), [&](const Kind* kind) {
    return receives.empty() ? 0 : likeness(in_its_communicator(*likest(kind->match)), in_its_communicator(kind->match));
  });
  std::vector<Lying> messages = founding_messages(matcher);
  for (const Kind* kind : sorted) {
    if (messages.size() == kMostOfProcess) break;
    Lying& message = messages.emplace_back(kind->message);
    message.rank = my_rank(message.context);
    message.comm = is_partitioned(message.context) ? comm_text(message.context & ~kPartitioned) + ", of MPI_Psend_init,"
                                                   : comm_text(message.context);
    if (!receives.empty()) message.why = difference_text(*likest(kind->match), kind->match);
  }
  return messages;
}

void add_messages(Finding& finding, const std::vector<FoundMessage>& found, const Others& others) {
  const char* const ranks = "ranks are those of MPI_COMM_WORLD";
  if (found.empty()) {
    finding.details.push_back(fmt::format("no message is under way between them; {}", ranks));
    return;
  }
  std::vector<CodeAddress> addresses;
  for (const FoundMessage& each : found) addresses.push_back(each.sender.caller);
  const std::vector<std::string> places = source_places(addresses);
  for (size_t i = 0; i < found.size(); ++i) {
    const Lying& message = found[i].message;
    if (!message.founds.empty()) {
      finding.details.push_back(founding_sentence(found[i], others));
      continue;
    }
    const bool one = message.count == 1, known = found[i].sender.status == Status::started;
    finding.details.push_back(fmt::format(
        "{} has {} from {} with tag {}{} that nobody has received{}{}{}", processes_text(others, {found[i].receiver}),
        one ? "a message" : fmt::format("{} messages", message.count), processes_text(others, {message.process}),
        message.tag, message.comm, message.why.empty() ? "" : fmt::format(" ({})", message.why),
        known ? ": sent by " : "",
        known ? fmt::format("{} at {}", flight::description(found[i].sender.call), places[i]) : ""));
  }
  finding.details.push_back(ranks);
}

}  // namespace tutti::contract
