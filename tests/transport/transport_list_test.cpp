// SPDX-License-Identifier: BSD-3-Clause
// The list of transports: who serves whom, in which order and for how long; how often each is polled; whose a long
// message is; what wakes; and all of it while one more is added.
#include "transport/transport_list.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace tutti::transport {
namespace {

// What a transport of a test does, and what was done to it; outlives it.
struct Act {
  std::set<int> serves;  // empty: everybody
  std::set<int> cannot;  // though it might
  int longest_patience = 1;
  int polls = 0, opened = 0, news = 0;  // so many passes have something
  bool can_sleep = true;
  std::function<void()> in_progress;
  Receiver* receiver = nullptr;
  std::vector<void*> fetched, discarded;
  std::vector<int>* ended = nullptr;  // takes `number`
  int number = 0, descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

  Act() = default;
  explicit Act(int patience) : longest_patience(patience) {}
  Act(const Act&) = delete;
  ~Act() { close(descriptor); }
  void ring() const { ASSERT_EQ(eventfd_write(descriptor, 1), 0); }
};

class Acting final : public Transport {
 public:
  explicit Acting(Act& act) : act_(act) {}
  ~Acting() override {
    if (act_.ended) act_.ended->push_back(act_.number);
  }
  void set_receiver(Receiver& receiver) override { act_.receiver = &receiver; }
  void send(int, Outgoing&) override {}
  void notify(int, const Header&) override {}
  void fetch(void* rendezvous, Fetch&) override { act_.fetched.push_back(rendezvous); }
  void discard(void* rendezvous) override { act_.discarded.push_back(rendezvous); }
  bool serves(int peer) const override { return act_.serves.empty() || act_.serves.contains(peer); }
  Error open_way(int peer) override {
    ++act_.opened;
    return act_.cannot.contains(peer) ? failure(1, "it is full") : Error();
  }
  memory::Reach reach(int, memory::Region region) override {
    return region == memory::Region::process ? memory::Reach::kernel_copies : memory::Reach::load_store;
  }
  int longest_patience() const override { return act_.longest_patience; }
  bool progress() override {
    ++act_.polls;
    if (act_.in_progress) std::exchange(act_.in_progress, nullptr)();
    return act_.news > 0 && act_.news-- > 0;
  }
  int descriptor() const override { return act_.descriptor; }
  bool arm(bool) override { return act_.can_sleep; }
  bool flushed() override { return true; }

 private:
  Act& act_;
};

struct Ears final : Receiver {
  void arrived(const Arrival& arrival) override { rendezvous.push_back(arrival.rendezvous); }
  void unsent(int) override {}
  std::vector<void*> rendezvous;
};

std::unique_ptr<Transport> acting(Act& act) {
  return std::make_unique<Acting>(act);
}

bool is_readable(int descriptor) {
  pollfd one{descriptor, POLLIN, 0};
  return poll(&one, 1, 0) == 1;
}

// ---- who serves whom

TEST(TransportList, TheFirstOneThatCanServesAPeer) {
  Act near, far;
  near.serves = {0, 1, 2};
  near.cannot = {2};
  TransportList list;
  EXPECT_EQ(list.serving(0), TransportList::kNone);  // there is none; that stays so until it is forgotten
  EXPECT_EQ(list.add(acting(near), true), 0);
  EXPECT_EQ(list.add(acting(far), true), 1);
  EXPECT_EQ(list.serving(0), TransportList::kNone);
  EXPECT_FALSE(TransportList::is_one(list.serving(0)));
  list.forget(0);
  EXPECT_EQ(list.serving(0), 0);
  EXPECT_EQ(list.serving(1), 0);
  EXPECT_EQ(list.serving(2), 1);  // the first one breaks
  EXPECT_EQ(list.serving(3), 1);  // it is no matter of the first one
  EXPECT_EQ(near.opened, 3);
  EXPECT_EQ(far.opened, 2);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(list.serving(2), 1);
  EXPECT_EQ(near.opened, 3);
}

TEST(TransportList, NobodyServesWhomAllBreakFor) {
  Act one, other;
  one.cannot = other.cannot = {5};
  TransportList list;
  list.add(acting(one), true);
  list.add(acting(other), true);
  EXPECT_EQ(list.serving(5), TransportList::kNone);
  EXPECT_EQ(list.serving(5), TransportList::kNone);
  EXPECT_EQ(one.opened + other.opened, 2);
}

TEST(TransportList, WhatIsForgottenIsLookedForAnew) {
  Act one, other;
  TransportList list;
  list.add(acting(one), true);
  list.add(acting(other), true);
  for (int peer = 0; peer < 1000; ++peer) EXPECT_EQ(list.serving(peer), 0);
  one.cannot = {7, 9};
  EXPECT_EQ(list.serving(7), 0);
  list.forget(7);
  EXPECT_EQ(list.serving(7), 1);
  EXPECT_EQ(list.serving(9), 0);
  one.cannot.clear();
  list.forget(7);
  EXPECT_EQ(list.serving(7), 0);
  list.forget(5000);  // was never asked for
  EXPECT_EQ(list.serving(5000), 0);
}

// Those of other jobs: nobody is served by them unless it is said.
TEST(TransportList, WhatIsNotForAllServesWhomItIsSetFor) {
  Act one, other;
  one.serves = {0};
  TransportList list;
  list.add(acting(one), true);
  EXPECT_EQ(list.serving(0), 0);
  const TransportList::Number second = list.add(acting(other), false);
  EXPECT_EQ(list.serving(0), 0);
  EXPECT_EQ(list.serving(4), TransportList::kNone);
  list.set(4, second);
  EXPECT_EQ(list.serving(4), second);
  constexpr TransportList::Number word = TransportList::kWords + 1;
  list.set(4, word);
  EXPECT_EQ(list.serving(4), word);
  EXPECT_FALSE(TransportList::is_one(word));
  list.forget(4);
  EXPECT_TRUE(list.has_word(4));
  EXPECT_EQ(list.serving(4), word);
  EXPECT_FALSE(list.has_word(0));
  EXPECT_EQ(other.opened, 0);
  EXPECT_EQ(list.reach(0, memory::Region::process), memory::Reach::kernel_copies);
  EXPECT_EQ(list.reach(4, memory::Region::process), memory::Reach::messages);
  EXPECT_EQ(list.reach(4, memory::Region::segment), memory::Reach::messages);
  EXPECT_EQ(list.reach(4, memory::Region::mapped), memory::Reach::load_store);
  EXPECT_EQ(one.opened, 1);  // to ask takes nothing
}

// ---- how often each is polled

TEST(TransportList, AnIdleOneIsPolledAsRarelyAsItSays) {
  Act busy, patient(1000), less_patient(10);
  TransportList list;
  list.add(acting(busy), true);
  list.add(acting(patient), true);
  list.add(acting(less_patient), true);
  busy.news = 1 << 30;
  for (int i = 0; i < 20'000; ++i) EXPECT_TRUE(list.progress());
  EXPECT_EQ(busy.polls, 20'000);
  EXPECT_GE(patient.polls, 20);
  EXPECT_LE(patient.polls, 40);
  EXPECT_GE(less_patient.polls, 2000);
  EXPECT_LE(less_patient.polls, 2020);
  // News make it be asked in each pass, and its rest is its own again when they end.
  patient.news = 100;
  const int before = patient.polls;
  for (int i = 0; i < 1300; ++i) list.progress();
  EXPECT_EQ(patient.news, 0);
  EXPECT_GE(patient.polls - before, 100);
  EXPECT_LE(patient.polls - before, 115);
}

TEST(TransportList, AllArePolledWhereNothingElseHasNews) {
  Act idle, dear(1000);
  TransportList list;
  list.add(acting(idle), true);
  list.add(acting(dear), true);
  for (int i = 0; i < 1100; ++i) EXPECT_FALSE(list.progress());
  EXPECT_GE(dear.polls, 1000);
  // A single pass with news ends that.
  idle.news = 1;
  list.progress();
  const int before = dear.polls;
  for (int i = 0; i < 60; ++i) list.progress();
  EXPECT_LE(dear.polls - before, 1);
}

TEST(TransportList, ADearOneAloneIsPolledInEachPass) {
  Act dear(1000), other(1000);
  TransportList list;
  EXPECT_FALSE(list.progress());
  EXPECT_FALSE(list.progress_here(5));
  list.add(acting(dear), true);
  list.add(acting(other), false);
  for (int i = 0; i < 100; ++i) list.progress(), list.progress_here(1);
  EXPECT_EQ(dear.polls, 200);
  EXPECT_EQ(other.polls, 200);
}

// Who waits for nothing but shared memory says how many calls have passed.
TEST(TransportList, PassesThatAreCountedElsewhereCount) {
  Act idle, dear(100);
  TransportList list;
  list.add(acting(idle), true);
  list.add(acting(dear), true);
  for (int i = 0; i < 1000; ++i) list.progress_here(1);
  EXPECT_EQ(idle.polls, 1000);
  EXPECT_LE(dear.polls, 20);
  const int before = dear.polls;
  for (int i = 0; i < 10; ++i) list.progress_here(100);
  EXPECT_EQ(dear.polls - before, 10);
}

// ---- one more, while others are at work

TEST(TransportList, OneMayBeAddedByWhatAnotherOneDelivers) {
  Act first, second(1000), third(1000);
  Ears ears;
  TransportList list;
  list.set_receiver(ears);
  list.add(acting(first), true);
  list.add(acting(second), false);
  EXPECT_EQ(list.serving(0), 0);
  second.in_progress = [&] {
    const TransportList::Number number = list.add(acting(third), false);
    EXPECT_EQ(number, 2);
    list.set(7, number);
  };
  for (int i = 0; i < 200; ++i) list.progress();
  EXPECT_EQ(list.size(), 3u);
  EXPECT_EQ(list.serving(0), 0);
  EXPECT_EQ(list.serving(7), 2);
  EXPECT_GE(third.polls, 100);  // nothing else has news
  ASSERT_TRUE(third.receiver);
  first.in_progress = [&] { list.add(acting(second), false); };
  list.progress();
  EXPECT_EQ(list.size(), 4u);
}

TEST(TransportList, ANewOneIsPolledSoonThoughOthersAreBusy) {
  Act busy, dear(1000), late(1000);
  TransportList list;
  list.add(acting(busy), true);
  list.add(acting(dear), true);
  busy.news = 1 << 30;
  for (int i = 0; i < 5000; ++i) list.progress();
  list.add(acting(late), false);
  list.progress();
  EXPECT_EQ(late.polls, 1);
}

TEST(TransportList, TheLastOneEndsFirst) {
  std::vector<int> ended;
  Act acts[3];
  {
    TransportList list;
    for (int i = 0; i < 3; ++i) {
      acts[i].ended = &ended;
      acts[i].number = i;
      list.add(acting(acts[i]), true);
    }
  }
  EXPECT_EQ(ended, (std::vector<int>{2, 1, 0}));
}

// ---- whose a long message is

TEST(TransportList, LongMessagesGoBackToWhereTheyCameFrom) {
  Act first, second, third(1000);
  Ears ears, later;
  TransportList list;
  list.add(acting(first), true);
  list.add(acting(second), true);
  list.set_receiver(ears);
  list.add(acting(third), false);
  alignas(8) std::byte names[3][8];
  Act* const acts[] = {&first, &second, &third};
  const auto arrive = [&] {
    for (int i = 0; i < 3; ++i) acts[i]->receiver->arrived({.header = {}, .data = nullptr, .rendezvous = names[i]});
  };
  arrive();
  ASSERT_EQ(ears.rendezvous.size(), 3u);
  Fetch fetch;
  for (void* const rendezvous : ears.rendezvous) list.fetch(rendezvous, fetch);
  // Those that have come stay good when another one is to hear.
  ears.rendezvous.clear();
  arrive();
  list.set_receiver(later);
  for (void* const rendezvous : ears.rendezvous) list.discard(rendezvous);
  arrive();
  EXPECT_EQ(later.rendezvous.size(), 3u);
  for (void* const rendezvous : later.rendezvous) list.discard(rendezvous);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(acts[i]->fetched, std::vector<void*>{names[i]}) << i;
    EXPECT_EQ(acts[i]->discarded, (std::vector<void*>{names[i], names[i]})) << i;
  }
}

// ---- sleep

TEST(TransportList, WhoSleepsIsWokenByEach) {
  Act cheap, dear(1000);
  TransportList list;
  list.add(acting(cheap), true);
  list.add(acting(dear), true);
  for (const Act* const act : {&cheap, &dear}) {
    ASSERT_TRUE(list.arm(true));
    EXPECT_FALSE(is_readable(list.descriptor()));
    act->ring();
    EXPECT_TRUE(is_readable(list.descriptor()));
    list.disarm();
    eventfd_t taken;
    EXPECT_EQ(eventfd_read(act->descriptor, &taken), 0);
  }
  // Who polls is not told of what is dear.
  dear.ring();
  EXPECT_FALSE(is_readable(list.descriptor()));
}

TEST(TransportList, NewsKeepFromSleepAndAreAskedForNext) {
  Act busy, dear(1000);
  TransportList list;
  list.add(acting(busy), true);
  list.add(acting(dear), true);
  busy.news = 1 << 30;
  for (int i = 0; i < 5000; ++i) list.progress();
  dear.can_sleep = false;
  EXPECT_FALSE(list.arm(true));
  const int before = dear.polls;
  list.progress();
  EXPECT_EQ(dear.polls, before + 1);
  dear.ring();  // it is not armed
  EXPECT_FALSE(is_readable(list.descriptor()));
  dear.can_sleep = true;
  busy.can_sleep = false;
  EXPECT_FALSE(list.arm(true));
  busy.can_sleep = true;
  EXPECT_TRUE(list.arm(true));
}

// UCX says so of one that takes more of a send whose receiver is away, and looks at one of its sockets a call.
TEST(TransportList, WhatComesBehindWhatDoesNotMoveIsSeenBeforeSleep) {
  constexpr int kBehind = 8, kOften = 1 << 20;
  Act dear(1000);
  TransportList list;
  list.add(acting(dear), true);
  ASSERT_TRUE(list.arm(true));
  list.disarm();
  dear.ring();  // and stays so
  const int before = dear.polls;
  ASSERT_TRUE(list.arm(true));
  EXPECT_FALSE(is_readable(list.descriptor()));  // it sleeps in spite of that
  EXPECT_GE(dear.polls - before, kBehind);
  EXPECT_LT(dear.polls - before, kOften);
  list.disarm();
  int looks = 0;
  std::function<void()> look = [&] {
    if (++looks == kBehind) dear.news = 1;
    dear.in_progress = look;
  };
  dear.in_progress = look;
  EXPECT_FALSE(list.arm(true));  // the news keep it from sleep
  EXPECT_EQ(looks, kBehind);
}

// More sockets than few: as many looks as there are descriptors.
TEST(TransportList, AllSocketsAreSeenBeforeSleep) {
  std::vector<int> open;
  for (int i = 0; i < 100; ++i) open.push_back(eventfd(0, EFD_CLOEXEC));
  Act dear(1000);
  TransportList list;
  list.add(acting(dear), true);
  dear.ring();
  const int before = dear.polls;
  ASSERT_TRUE(list.arm(true));
  EXPECT_GE(dear.polls - before, 100);
  for (const int each : open) close(each);
}

}  // namespace
}  // namespace tutti::transport
