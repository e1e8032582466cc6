// SPDX-License-Identifier: BSD-3-Clause
// What sinks hear of the lives of sends and receives: which events, in which order, of which operation.
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cluster.hpp"
#include "life/sinks.hpp"

namespace tutti::engine {
namespace {

using life::Event;
using life::Happening;

constexpr int kGo =
    99;  // the tag of messages by which the ranks of a test wait for each other, and which it does not show

// Without a progress thread each engine's events are told by its own thread. Sinks live as long as the process.
class Heard final : public life::Sink {
 public:
  static std::vector<Event>& mine() {
    static thread_local std::vector<Event> events;
    return events;
  }

 private:
  void hears(const Event& event) override {
    if (event.tag != kGo) mine().push_back(event);
  }
};

std::string name_of(Happening what) {
  constexpr const char* kNames[] = {"matched", "unexpected", "begun", "ended", "sent",
                                    "arrived", "posted",     "moved", "over"};
  return kNames[static_cast<size_t>(what)];
}
// "posted sent moved over"
std::string story(const std::vector<Event>& events) {
  std::string text;
  for (const Event& e : events) text += (text.empty() ? "" : " ") + name_of(e.what);
  return text;
}
std::string take_story() {
  return story(std::exchange(Heard::mine(), {}));
}

void go(Engine& e, int to, int from) {
  uint8_t byte = 1;
  Sent sent(bytes_of(&byte, 1), to, from, kGo);
  e.send(sent);
  e.wait_until([&] { return sent.state.done; });
}
void await_go(Engine& e, int from) {
  uint8_t byte = 0;
  Received received(bytes_of(&byte, 1), from, kGo);
  e.recv(received);
  e.wait_until([&] { return received.state.done; });
}

class LivesTest : public testing::TestWithParam<Cluster::Over> {
 protected:
  LivesTest() { sink().listen(life::kEvery); }
  ~LivesTest() override { sink().listen(0); }
  static Heard& sink() {
    static Heard only;
    return only;
  }
};
INSTANTIATE_TEST_SUITE_P(Over, LivesTest, kEverywhere, [](auto& info) { return kOver[static_cast<int>(info.param)]; });

constexpr size_t kShort = 8, kLong = 3'000'000;

TEST_P(LivesTest, OfASendAndItsReceiveWhicheverIsPostedFirst) {
  Cluster cluster(GetParam(), 2);
  cluster.run([&](Engine& e, int rank) {
    Engine::Guard own(e);
    for (const size_t length : {kShort, kLong})
      for (const bool late : {false, true}) {
        std::vector<uint8_t> data(length);
        Heard::mine().clear();
        if (rank == 0) {
          await_go(e, 1);
          Sent s(bytes_of(data), 1, 0, 5);
          e.send(s);
          e.wait_until([&] { return s.state.done; });
          for (const Event& each : Heard::mine()) {
            EXPECT_EQ(each.process, 1);
            EXPECT_EQ(each.bytes, static_cast<int64_t>(length));
            EXPECT_EQ(each.operation, Heard::mine()[0].operation);
          }
          if (length == kLong) {
            EXPECT_EQ(Heard::mine()[0].operation, reinterpret_cast<uintptr_t>(&s));
          }
          EXPECT_EQ(take_story(), "posted sent moved over");
        } else {
          Received r(bytes_of(data), 0, 5);
          if (!late) e.recv(r);
          go(e, 0, 1);
          if (late) {
            e.wait_until([&] { return e.probe({kContext, 0, 5, 0}) != nullptr; });
            e.recv(r);
          }
          e.wait_until([&] { return r.state.done; });
          const std::vector<Event> all = std::exchange(Heard::mine(), {});
          EXPECT_EQ(story(all),
                    late ? "arrived unexpected posted matched moved over" : "posted arrived matched moved over");
          for (const Event& each : all) {
            const bool before = each.what == Happening::message_unexpected || (late && &each == &all[0]);
            EXPECT_EQ(each.operation, before ? 0 : reinterpret_cast<uintptr_t>(&r)) << name_of(each.what);
            EXPECT_EQ(each.is_receive, !before) << name_of(each.what);
            EXPECT_EQ(each.process, each.what == Happening::operation_posted ? -1 : 0) << name_of(each.what);
          }
        }
      }
  });
}

TEST_P(LivesTest, ASynchronousSendIsOverWhenItIsMatched) {
  Cluster cluster(GetParam(), 2);
  cluster.run([&](Engine& e, int rank) {
    Engine::Guard own(e);
    std::vector<uint8_t> data(kShort);
    Heard::mine().clear();
    if (rank == 0) {
      Sent s(bytes_of(data), 1, 0, 5, SendMode::synchronous);
      e.send(s);
      await_go(e, 1);  // it has arrived there
      EXPECT_EQ(story(Heard::mine()).find("over"), std::string::npos);
      go(e, 1, 0);
      e.wait_until([&] { return s.state.done; });
      EXPECT_EQ(take_story(), "posted sent moved over");
    } else {
      e.wait_until([&] { return e.probe({kContext, 0, 5, 0}) != nullptr; });
      go(e, 0, 1);
      await_go(e, 0);
      Received r(bytes_of(data), 0, 5);
      e.recv(r);
      e.wait_until([&] { return r.state.done; });
    }
  });
}

TEST_P(LivesTest, AWildcardNamesItsSenderOnceItHasMatched) {
  Cluster cluster(GetParam(), 2);
  cluster.run([&](Engine& e, int rank) {
    Engine::Guard own(e);
    for (const size_t length : {kShort, kLong}) {
      std::vector<uint8_t> data(length);
      Heard::mine().clear();
      if (rank == 0) {
        await_go(e, 1);
        Sent s(bytes_of(data), 1, 0, 5);
        e.send(s);
        e.wait_until([&] { return s.state.done; });
      } else {
        Received r(bytes_of(data), kAnySource, kAnyTag);
        e.recv(r);
        go(e, 0, 1);
        e.wait_until([&] { return r.state.done; });
        const std::vector<Event> all = std::exchange(Heard::mine(), {});
        ASSERT_EQ(story(all), "posted arrived matched moved over");
        EXPECT_EQ(all[0].source, kAnySource);
        EXPECT_EQ(all[0].tag, kAnyTag);
        for (size_t i = 1; i < all.size(); ++i) {
          EXPECT_EQ(all[i].process, 0);
          EXPECT_EQ(all[i].source, 0);
          EXPECT_EQ(all[i].tag, 5);
        }
      }
    }
  });
}

TEST_P(LivesTest, WhatIsCancelledIsOverAllTheSame) {
  Cluster cluster(GetParam(), 2);
  cluster.run([&](Engine& e, int rank) {
    Engine::Guard own(e);
    std::vector<uint8_t> data(kLong);
    Heard::mine().clear();
    if (rank == 1) return await_go(e, 0);
    Received never(bytes_of(data), 1, 7);
    e.recv(never);
    EXPECT_TRUE(e.cancel(never));
    EXPECT_EQ(take_story(), "posted over");
    Sent s(bytes_of(data), 1, 0, 5);
    e.send(s);
    e.cancel(s);
    e.wait_until([&] { return s.state.done; });
    EXPECT_TRUE(s.outcome.cancelled);
    std::map<Happening, int> times;
    for (const Event& each : Heard::mine()) ++times[each.what];
    EXPECT_EQ(times[Happening::operation_posted], 1);
    EXPECT_EQ(times[Happening::operation_over], 1);
    EXPECT_EQ(Heard::mine().back().what, Happening::operation_over);
    Heard::mine().clear();
    Received failed(bytes_of(data), 1, 8);
    e.recv(failed);
    const auto all = [](void*, uint64_t) { return true; };
    const auto none = [](void*, uint64_t) { return false; };
    e.fail(all, none, nullptr, 1);
    EXPECT_EQ(take_story(), "posted over");
    go(e, 1, 0);
  });
}

TEST_P(LivesTest, AMessageToTheProcessItselfNeverTravels) {
  Cluster cluster(GetParam(), 2);
  cluster.run([&](Engine& e, int rank) {
    if (rank == 1) return;
    Engine::Guard own(e);
    for (const size_t length : {kShort, kLong}) {
      std::vector<uint8_t> data(length), into(length);
      Heard::mine().clear();
      {
        Sent s(bytes_of(data), 0, 0, 5);
        Received r(bytes_of(into), 0, 5);
        e.send(s), e.recv(r);
        EXPECT_EQ(take_story(), length == kShort ? "posted unexpected moved over posted matched moved over"
                                                 : "posted unexpected posted matched moved over moved over");
      }
      Sent s(bytes_of(data), 0, 0, 5);
      Received r(bytes_of(into), 0, 5);
      e.recv(r), e.send(s);
      const std::vector<Event> all = std::exchange(Heard::mine(), {});
      ASSERT_EQ(story(all), "posted posted matched moved over moved over");
      const auto sender = reinterpret_cast<uintptr_t>(&s), receiver = reinterpret_cast<uintptr_t>(&r);
      const uint64_t whose[] = {receiver, sender, receiver, receiver, receiver, sender, sender};
      for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].operation, whose[i]) << i;
    }
  });
}

TEST_P(LivesTest, OfAHiddenMessageTheCollectiveIsNamed) {
  Cluster cluster(GetParam(), 2);
  cluster.run([&](Engine& e, int rank) {
    Engine::Guard own(e);
    std::vector<uint8_t> data(kShort);
    Heard::mine().clear();
    const Match match{kContext | 1, 0, 5, 6};
    if (rank == 0) {
      await_go(e, 1);
      Sent s(bytes_of(data), 1, 0, 5);
      s.match = match;
      e.send(s);
      e.wait_until([&] { return s.state.done; });
    } else {
      Received r(bytes_of(data), 0, 5);
      r.match = match;
      e.recv(r);
      go(e, 0, 1);
      e.wait_until([&] { return r.state.done; });
    }
    const std::vector<Event> all = std::exchange(Heard::mine(), {});
    EXPECT_EQ(story(all), rank == 0 ? "posted sent moved over" : "posted arrived moved over");
    for (const Event& each : all) {
      EXPECT_EQ(each.serial, 7U) << "counted from 1";
      EXPECT_EQ(each.context, kContext | 1);
    }
  });
}

// Without an operation of the engine: its events come one behind the other.
TEST(Lives, WhatIsOverAtOnceIsToldWhole) {
  static Heard sink;
  sink.listen(life::kEvery);
  Cluster cluster(Cluster::Over::shared, 2);
  std::atomic<bool> is_sent{false};
  cluster.run([&](Engine& e, int rank) {
    Engine::Guard own(e);
    uint64_t data = 7;
    const Match match{kContext, 0, 5, 0};
    if (rank == 0) {
      go(e, 1, 0);  // opens the ring
      await_go(e, 1);
      Heard::mine().clear();
      EXPECT_TRUE(e.send_at_once(1, match, bytes_of(&data, 8)));
      is_sent = true;
      EXPECT_EQ(story(Heard::mine()), "posted sent moved over");
    } else {
      await_go(e, 0);
      go(e, 0, 1);
      while (!is_sent) std::this_thread::yield();  // without a pass, which would hand it over
      Heard::mine().clear();
      Outcome outcome;
      EXPECT_TRUE(e.recv_at_once(0, match, bytes_of(&data, 8), outcome, true));
      EXPECT_EQ(story(Heard::mine()), "posted arrived matched moved over");
    }
    for (const Event& each : Heard::mine()) {
      EXPECT_EQ(each.operation, 0U);
      EXPECT_EQ(each.is_receive, rank == 1);
      EXPECT_EQ(each.process, 1 - rank);
    }
  });
  sink.listen(0);
}

}  // namespace
}  // namespace tutti::engine
