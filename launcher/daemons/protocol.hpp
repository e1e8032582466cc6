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

enum class Sender : uint8_t { launcher, daemon };

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
  Sender from;
  Talks in;
  Talk next = Talk::meeting;  // the state that it leads to; meeting: it leads to none
  // Some states are left by another message already, which this one has met on its way.
  Talks leads_from = 0xff;
};

inline constexpr TalkRule kTalkRules[] = {
    {Message::challenge, "challenge", Sender::launcher, talks({Talk::meeting})},
    {Message::hello, "hello", Sender::daemon, talks({Talk::meeting}), Talk::challenged},
    {Message::welcome, "welcome", Sender::launcher, talks({Talk::challenged}), Talk::ready},
    {Message::give_file, "give_file", Sender::launcher, talks({Talk::ready})},
    {Message::launch, "launch", Sender::launcher, talks({Talk::ready}), Talk::launching},
    {Message::signal_ranks, "signal_ranks", Sender::launcher, kAtAnyTime},
    // A node may have to finish what it never began, where another one could not begin it.
    {Message::finish, "finish", Sender::launcher, talks({Talk::ready, Talk::launching, Talk::running}),
     Talk::finishing},
    {Message::give_input, "give_input", Sender::launcher, kOfRanks},
    {Message::output_taken, "output_taken", Sender::launcher, kOfRanks},
    {Message::fence_done, "fence_done", Sender::launcher, kOfRanks},
    {Message::find_modex, "find_modex", Sender::launcher, kAtAnyTime},
    {Message::modex_answer, "modex_answer", Sender::launcher, kOfRanks},
    {Message::take_addresses, "take_addresses", Sender::launcher, kOfRanks},
    {Message::deliver_event, "deliver_event", Sender::launcher, kAtAnyTime},
    {Message::reply, "reply", Sender::launcher, kOfRanks},
    {Message::learn, "learn", Sender::launcher, kAtAnyTime},
    {Message::look, "look", Sender::launcher, kOfRanks},
    {Message::call, "call", Sender::launcher, kAtAnyTime},
    {Message::ranks_failed, "ranks_failed", Sender::launcher, kAtAnyTime},
    {Message::carried, "carried", Sender::launcher, kAtAnyTime},
    {Message::told, "told", Sender::daemon, kAtAnyTime},
    {Message::attach, "attach", Sender::daemon, kAtAnyTime},
    {Message::adopt, "adopt", Sender::launcher, kAtAnyTime},
    {Message::gone, "gone", Sender::daemon, kAtAnyTime},
    {Message::watch, "watch", Sender::launcher, kAtAnyTime},
    {Message::beat, "beat", Sender::daemon, kAtAnyTime},
    {Message::answer, "answer", Sender::launcher, kAtAnyTime},
    {Message::leave, "leave", Sender::daemon, kAtAnyTime},
    {Message::adopted, "adopted", Sender::launcher, kAtAnyTime},
    {Message::refused, "refused", Sender::launcher, kAtAnyTime},
    {Message::again, "again", Sender::launcher, kAtAnyTime},
    {Message::depart, "depart", Sender::launcher, kAtAnyTime},
    {Message::relay, "relay", Sender::launcher, kAtAnyTime},
    {Message::give_up, "give_up", Sender::launcher, kAtAnyTime},
    {Message::relayed, "relayed", Sender::daemon, kAtAnyTime},
    {Message::gathered, "gathered", Sender::daemon, kAtAnyTime},
    {Message::joined, "joined", Sender::daemon, kAtAnyTime},
    {Message::parted, "parted", Sender::daemon, kAtAnyTime},
    {Message::not_started, "not_started", Sender::daemon, kAtAnyTime},
    {Message::counted, "counted", Sender::daemon, kAtAnyTime},
    {Message::launched, "launched", Sender::daemon, talks({Talk::launching, Talk::finishing}), Talk::running,
     talks({Talk::launching})},
    {Message::launch_failed, "launch_failed", Sender::daemon, talks({Talk::launching})},
    {Message::rank_ended, "rank_ended", Sender::daemon, talks({Talk::launching, Talk::running})},
    {Message::ranks_ended, "ranks_ended", Sender::daemon, talks({Talk::launching, Talk::running})},
    {Message::rank_aborted, "rank_aborted", Sender::daemon, kOfRanks},
    {Message::rank_crashed, "rank_crashed", Sender::daemon, kUntilDone},
    {Message::rank_waits, "rank_waits", Sender::daemon, kOfRanks},
    {Message::output, "output", Sender::daemon, kUntilDone},
    {Message::note, "note", Sender::daemon, kUntilDone},
    {Message::remark, "remark", Sender::daemon, kUntilDone},
    {Message::input_wanted, "input_wanted", Sender::daemon, kUntilDone},
    {Message::fence, "fence", Sender::daemon, kOfRanks},
    {Message::modex_wanted, "modex_wanted", Sender::daemon, kOfRanks},
    {Message::modex_found, "modex_found", Sender::daemon, kAtAnyTime},
    {Message::addresses_wanted, "addresses_wanted", Sender::daemon, kOfRanks},
    {Message::event, "event", Sender::daemon, kOfRanks},
    {Message::asked, "asked", Sender::daemon, kOfRanks},
    {Message::looked, "looked", Sender::daemon, kOfRanks},
    {Message::grouped, "grouped", Sender::daemon, kOfRanks},
    {Message::gathered_groups, "gathered_groups", Sender::daemon, kAtAnyTime},
    {Message::profiled, "profiled", Sender::daemon, kUntilDone},
    {Message::answered, "answered", Sender::daemon, kAtAnyTime},
    {Message::finished, "finished", Sender::daemon, talks({Talk::finishing}), Talk::done},
};

constexpr const TalkRule* talk_rule(Message message) {
  for (const TalkRule& rule : kTalkRules)
    if (rule.message == message) return &rule;
  return nullptr;
}

constexpr bool may_come(Talk now, Sender from, Message message) {
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
