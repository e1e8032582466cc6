// SPDX-License-Identifier: BSD-3-Clause
// The conversation of the launcher with a daemon as a table: which message may come from which side
// in which state, and which state it leads to. Both ends keep the state, by what they send and
// receive; what is on its way meanwhile is why a state lets in more than its name says. A message
// without a row for its state is an error that ends the job.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "launcher/data/wire.hpp"

namespace tutti::launcher {

enum class Talk : uint8_t {
  meeting,     // connected; nobody has proved anything
  challenged,  // the daemon has proved to be of the job
  ready,       // … and the launcher, too; there is no part of the job yet
  launching,   // ranks are being started
  running,     // every rank of the node runs its program
  finishing,   // the node has been told to end what is left
  done,        // … and has
};

enum class Side : uint8_t { launcher, daemon };

using Talks = uint8_t;  // a set of states
constexpr Talks talks(std::initializer_list<Talk> list) {
  Talks out = 0;
  for (const Talk talk : list) out = static_cast<Talks>(out | 1u << static_cast<unsigned>(talk));
  return out;
}

// What the ranks of a node and its PMIx server may cause: also once the node has said that it is
// done, since PMIx's thread may be late with what a rank said before it ended.
inline constexpr Talks kOfRanks = talks({Talk::launching, Talk::running, Talk::finishing, Talk::done});
// From the launcher, which does not know yet how far the node has come.
inline constexpr Talks kAtAnyTime = static_cast<Talks>(kOfRanks | talks({Talk::ready}));
inline constexpr Talks kUntilDone = talks({Talk::launching, Talk::running, Talk::finishing});

struct TalkRule {
  Message message;
  std::string_view name;
  Side from;
  Talks in;
  Talk next = Talk::meeting;  // the state that it leads to; meeting: it leads to none
  // Some states are left by another message already, which this one has met on its way.
  Talks leads_from = 0xff;
};

inline constexpr TalkRule kTalkRules[] = {
    {Message::challenge, "challenge", Side::launcher, talks({Talk::meeting})},
    {Message::hello, "hello", Side::daemon, talks({Talk::meeting}), Talk::challenged},
    {Message::welcome, "welcome", Side::launcher, talks({Talk::challenged}), Talk::ready},
    {Message::give_file, "give_file", Side::launcher, talks({Talk::ready})},
    {Message::launch, "launch", Side::launcher, talks({Talk::ready}), Talk::launching},
    {Message::signal_ranks, "signal_ranks", Side::launcher, kAtAnyTime},
    // A node may have to finish what it never began, where another one could not begin it.
    {Message::finish, "finish", Side::launcher, talks({Talk::ready, Talk::launching, Talk::running}), Talk::finishing},
    {Message::give_input, "give_input", Side::launcher, kOfRanks},
    {Message::output_taken, "output_taken", Side::launcher, kOfRanks},
    {Message::fence_done, "fence_done", Side::launcher, kOfRanks},
    {Message::find_modex, "find_modex", Side::launcher, kAtAnyTime},
    {Message::modex_answer, "modex_answer", Side::launcher, kOfRanks},
    {Message::take_addresses, "take_addresses", Side::launcher, kOfRanks},
    {Message::deliver_event, "deliver_event", Side::launcher, kAtAnyTime},
    {Message::look, "look", Side::launcher, kOfRanks},
    {Message::call, "call", Side::launcher, kAtAnyTime},
    {Message::relay, "relay", Side::launcher, kAtAnyTime},
    {Message::give_up, "give_up", Side::launcher, kAtAnyTime},
    {Message::relayed, "relayed", Side::daemon, kAtAnyTime},
    {Message::gathered, "gathered", Side::daemon, kAtAnyTime},
    {Message::joined, "joined", Side::daemon, kAtAnyTime},
    {Message::parted, "parted", Side::daemon, kAtAnyTime},
    {Message::not_started, "not_started", Side::daemon, kAtAnyTime},
    {Message::counted, "counted", Side::daemon, kAtAnyTime},
    {Message::launched, "launched", Side::daemon, talks({Talk::launching, Talk::finishing}), Talk::running,
     talks({Talk::launching})},
    {Message::launch_failed, "launch_failed", Side::daemon, talks({Talk::launching})},
    {Message::rank_ended, "rank_ended", Side::daemon, talks({Talk::launching, Talk::running})},
    {Message::rank_aborted, "rank_aborted", Side::daemon, kOfRanks},
    {Message::rank_crashed, "rank_crashed", Side::daemon, kUntilDone},
    {Message::rank_waits, "rank_waits", Side::daemon, kOfRanks},
    {Message::output, "output", Side::daemon, kUntilDone},
    {Message::note, "note", Side::daemon, kUntilDone},
    {Message::remark, "remark", Side::daemon, kUntilDone},
    {Message::input_wanted, "input_wanted", Side::daemon, kUntilDone},
    {Message::fence, "fence", Side::daemon, kOfRanks},
    {Message::modex_wanted, "modex_wanted", Side::daemon, kOfRanks},
    {Message::modex_found, "modex_found", Side::daemon, kAtAnyTime},
    {Message::addresses_wanted, "addresses_wanted", Side::daemon, kOfRanks},
    {Message::event, "event", Side::daemon, kOfRanks},
    {Message::looked, "looked", Side::daemon, kOfRanks},
    {Message::answered, "answered", Side::daemon, kAtAnyTime},
    {Message::finished, "finished", Side::daemon, talks({Talk::finishing}), Talk::done},
};

constexpr const TalkRule* talk_rule(Message message) {
  for (const TalkRule& rule : kTalkRules)
    if (rule.message == message) return &rule;
  return nullptr;
}

constexpr bool may_come(Talk now, Side from, Message message) {
  const TalkRule* rule = talk_rule(message);
  return rule && rule->from == from && (rule->in & talks({now})) != 0;
}

// After a message that may come.
constexpr Talk after(Talk now, Message message) {
  const TalkRule* rule = talk_rule(message);
  const bool leads = rule && rule->next != Talk::meeting && (rule->leads_from & talks({now})) != 0;
  return leads ? rule->next : now;
}

// "said 'finished' while its ranks ran, which has no place there"
std::string out_of_place(Talk now, Message message);
std::string out_of_shape(Message message);

}  // namespace tutti::launcher
