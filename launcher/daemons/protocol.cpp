// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/daemons/protocol.hpp"

namespace tutti::launcher {
namespace {

constexpr const char* kWhen[] = {
    "before anything was proved",       "before the launcher had proved itself",
    "before there was anything to run", "while ranks were being started",
    "while ranks were running",         "after the node was told to finish",
    "after the node had finished",
};

constexpr bool has_each_message_once() {
  for (const TalkRule& rule : kTalkRules)
    if (talk_rule(rule.message) != &rule) return false;
  return true;
}
static_assert(has_each_message_once(), "two messages have one number, or one has two rows");

std::string name_of(Message message) {
  const TalkRule* rule = talk_rule(message);
  return rule ? fmt::format("'{}'", rule->name) : fmt::format("message {}", static_cast<int>(message));
}

}  // namespace

std::string out_of_place(Talk now, Message message) {
  if (!talk_rule(message)) return fmt::format("it sent {}, which there is not", name_of(message));
  return fmt::format("it said {} {}, which is not its turn", name_of(message), kWhen[static_cast<size_t>(now)]);
}

std::string out_of_shape(Message message) {
  return fmt::format("it said {} in a way that makes no sense", name_of(message));
}

}  // namespace tutti::launcher
