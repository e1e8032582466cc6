// SPDX-License-Identifier: BSD-3-Clause
// The table of the protocol between the launcher and its daemons.
#include "launcher/daemons/protocol.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tutti::launcher {
namespace {

constexpr Talk kAll[] = {Talk::meeting, Talk::challenged, Talk::ready, Talk::launching,
                         Talk::running, Talk::finishing,  Talk::done};

// Every combination of a state, a side and a byte that could be a message.
template <class Check>
void for_each_combination(Check check) {
  for (const Talk talk : kAll)
    for (const Sender side : {Sender::launcher, Sender::daemon})
      for (int byte = 0; byte < 256; ++byte) check(talk, side, static_cast<Message>(byte));
}

TEST(Protocol, HasOneRowForEachMessage) {
  for (const TalkRule& a : kTalkRules) {
    EXPECT_EQ(talk_rule(a.message), &a) << a.name;
    EXPECT_NE(a.in, 0) << a.name;
    EXPECT_NE(a.message, Message::ping);  // the link's own
  }
  int known = 0;
  for (int byte = 0; byte < 256; ++byte) known += talk_rule(static_cast<Message>(byte)) != nullptr;
  EXPECT_EQ(known, static_cast<int>(std::size(kTalkRules)));
}

TEST(Protocol, NobodySpeaksForTheOtherSide) {
  for (const TalkRule& rule : kTalkRules)
    for (const Talk talk : kAll)
      EXPECT_FALSE(may_come(talk, rule.from == Sender::daemon ? Sender::launcher : Sender::daemon, rule.message));
}

TEST(Protocol, BeforeTheProofsThereAreGreetingsAlone) {
  for_each_combination([](Talk talk, Sender side, Message message) {
    if (!may_come(talk, side, message)) return;
    if (talk == Talk::meeting) {
      EXPECT_TRUE(message == Message::challenge || message == Message::hello);
    } else if (talk == Talk::challenged) {
      EXPECT_EQ(message, Message::welcome);
    } else {
      EXPECT_TRUE(message != Message::challenge && message != Message::hello && message != Message::welcome);
    }
  });
}

TEST(Protocol, NoStateIsEnteredTwice) {
  for_each_combination([](Talk talk, Sender side, Message message) {
    if (!may_come(talk, side, message)) return;
    EXPECT_GE(after(talk, message), talk) << talk_rule(message)->name;
    const TalkRule& rule = *talk_rule(message);
    if (rule.next != Talk::meeting && after(talk, message) != talk) {
      EXPECT_FALSE(may_come(rule.next, side, message) && after(rule.next, message) != rule.next);
    }
  });
  for (const Message once : {Message::launch, Message::finish})
    EXPECT_FALSE(may_come(after(Talk::ready, once), Sender::launcher, once));
  EXPECT_FALSE(may_come(Talk::running, Sender::daemon, Message::launched));
}

TEST(Protocol, ANodeIsNotFinishedBeforeItWasTold) {
  for (const Talk talk : kAll) EXPECT_EQ(may_come(talk, Sender::daemon, Message::finished), talk == Talk::finishing);
}

TEST(Protocol, AJobRunsItsCourse) {
  const std::vector<std::pair<Sender, Message>> course = {
      {Sender::daemon, Message::hello},          {Sender::launcher, Message::welcome},
      {Sender::launcher, Message::launch},       {Sender::daemon, Message::note},
      {Sender::daemon, Message::input_wanted},   {Sender::daemon, Message::launched},
      {Sender::daemon, Message::output},         {Sender::launcher, Message::output_taken},
      {Sender::launcher, Message::give_input},   {Sender::daemon, Message::fence},
      {Sender::launcher, Message::fence_done},   {Sender::daemon, Message::modex_wanted},
      {Sender::launcher, Message::find_modex},   {Sender::daemon, Message::modex_found},
      {Sender::launcher, Message::look},         {Sender::daemon, Message::looked},
      {Sender::launcher, Message::signal_ranks}, {Sender::daemon, Message::rank_ended},
      {Sender::launcher, Message::finish},       {Sender::launcher, Message::call},
      {Sender::daemon, Message::answered},       {Sender::daemon, Message::output},
      {Sender::daemon, Message::finished},       {Sender::launcher, Message::output_taken},
  };
  Talk talk = Talk::meeting;
  EXPECT_TRUE(may_come(talk, Sender::launcher, Message::challenge));
  for (const auto& [side, message] : course) {
    EXPECT_TRUE(may_come(talk, side, message)) << out_of_place(talk, message);
    talk = after(talk, message);
  }
  EXPECT_EQ(talk, Talk::done);
}

TEST(Protocol, SaysWhatIsWrong) {
  EXPECT_EQ(out_of_place(Talk::running, Message::finished),
            "it said 'finished' while ranks were running, which is not its turn");
  EXPECT_EQ(out_of_place(Talk::ready, static_cast<Message>(99)), "it sent message 99, which there is not");
  for_each_combination([](Talk talk, Sender, Message message) { EXPECT_FALSE(out_of_place(talk, message).empty()); });
}

}  // namespace
}  // namespace tutti::launcher
