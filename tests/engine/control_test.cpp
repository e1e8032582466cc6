// SPDX-License-Identifier: BSD-3-Clause
// Control messages where there is no connection for them: they may be lost, what is sent behind them may not.
#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>
#include <utility>

#include "cluster.hpp"
#include "engine/observer.hpp"

namespace tutti::engine {
namespace {

using transport::Arrival;
using transport::Header;
using transport::Transport;

// In front of another transport: says whether there is a way.
class Gate : public Transport {
 public:
  explicit Gate(Transport& inner) : inner_(inner) {}
  Way way = Way::open;
  int asked = 0;

  void set_receiver(transport::Receiver& receiver) override { inner_.set_receiver(receiver); }
  void send(int peer, transport::Outgoing& outgoing) override { inner_.send(peer, outgoing); }
  void notify(int peer, const Header& header) override { inner_.notify(peer, header); }
  void fetch(void* rendezvous, transport::Fetch& fetch) override { inner_.fetch(rendezvous, fetch); }
  void discard(void* rendezvous) override { inner_.discard(rendezvous); }
  Way way_to(int, bool) override { return ++asked, way; }
  bool progress() override { return inner_.progress(); }
  int descriptor() const override { return inner_.descriptor(); }
  bool arm(bool by_flags) override { return inner_.arm(by_flags); }
  bool flushed() override { return inner_.flushed(); }

 private:
  Transport& inner_;
};

// Counts the passes from one sleep of its process to the next.
class Bed final : public Gate {
 public:
  using Gate::Gate;
  std::atomic<int> longest{0}, sleeps{0};

  bool progress() override {
    ++passes_;
    return Gate::progress();
  }
  bool arm(bool by_flags) override {
    const bool may_sleep = Gate::arm(by_flags);
    if (may_sleep) {
      longest = std::max(longest.load(), std::exchange(passes_, 0));
      ++sleeps;
    }
    return may_sleep;
  }

 private:
  int passes_ = 0;
};

class Heard final : public Observer {
 public:
  void arrived(const Header&) override {}
  void told(const Header& header, const std::byte*) override { tags.push_back(header.tag); }
  void waits(life::Blocked&, std::chrono::nanoseconds) override {}
  std::vector<int> tags;
};

// Rank 0 sends to rank 1, both driven by one thread.
struct Pair {
  transport::LoopbackFabric fabric{2, 7};
  Gate gate{fabric.at(0)};
  Engine first{gate, 0}, second{fabric.at(1), 1};
  Heard heard;

  Pair() {
    const Engine::Guard own(second);
    second.set_observer(&heard);
  }
  ~Pair() {
    const Engine::Guard own(second);
    second.set_observer(nullptr);
  }
  void control(int tag) {
    Header header;
    header.tag = tag;
    const Engine::Guard own(first);
    first.send_control(1, header, "word");
  }
  void pass() {
    for (int i = 0; i < 100; ++i) {
      {
        const Engine::Guard own(first);
        first.progress();
      }
      const Engine::Guard own(second);
      second.progress();
    }
  }
  // An ordinary message comes through.
  void exchange() {
    int out = 5, in = 0;
    Sent send(bytes_of(&out, sizeof out), 1, 0, 3);
    Received receive(bytes_of(&in, sizeof in), 0, 3);
    {
      const Engine::Guard own(second);
      second.recv(receive);
    }
    {
      const Engine::Guard own(first);
      first.send(send);
    }
    for (int i = 0; i < 1000 && !(send.state.done && receive.state.done); ++i) pass();
    ASSERT_TRUE(receive.state.done);
    EXPECT_EQ(in, 5);
  }
};

TEST(Control, IsLostWithoutAGapWhereThereIsNoWay) {
  Pair pair;
  pair.gate.way = Transport::Way::closed;
  for (int tag = 0; tag < 3; ++tag) pair.control(tag);
  pair.exchange();
  EXPECT_TRUE(pair.heard.tags.empty());
  EXPECT_EQ(pair.first.pending(), 0);
  pair.gate.way = Transport::Way::open;
  pair.control(7);
  pair.exchange();
  EXPECT_EQ(pair.heard.tags, (std::vector{7}));
}

TEST(Control, WaitsUntilThereMayBeAWay) {
  Pair pair;
  pair.gate.way = Transport::Way::later;
  pair.control(1);
  pair.exchange();
  EXPECT_TRUE(pair.heard.tags.empty());
  EXPECT_EQ(pair.first.pending(), 1);
  pair.gate.way = Transport::Way::open;
  pair.pass();
  EXPECT_EQ(pair.heard.tags, (std::vector{1}));
  EXPECT_EQ(pair.first.pending(), 0);

  pair.gate.way = Transport::Way::later;
  pair.control(2);
  pair.gate.way = Transport::Way::closed;
  pair.exchange();
  EXPECT_EQ(pair.heard.tags, (std::vector{1}));
  EXPECT_EQ(pair.first.pending(), 0);
}

// Who sleeps in a call answers a question, and sleeps again. What concerns an operation wakes it for longer, for more may
// follow.
TEST(Control, KeepsNobodyAwake) {
  constexpr int kPolls = 20'000;
  struct Answers final : Observer {
    explicit Answers(Bed& asleep_in) : bed(asleep_in) {}
    void arrived(const Header&) override {}
    void told(const Header&, const std::byte*) override { sleeps_then = bed.sleeps.load(); }
    void waits(life::Blocked&, std::chrono::nanoseconds) override {}
    Bed& bed;
    std::atomic<int> sleeps_then{-1};
  };
  transport::LoopbackFabric fabric{2, 7};
  Bed bed{fabric.at(1)};
  Answers answers{bed};
  Engine first{fabric.at(0), 0};
  Engine second{bed, 1, {.polls = kPolls, .yields = 100, .spreads = false, .adapts = false}};
  int out = 5, soon = 0, last = 0;
  Received receive_soon(bytes_of(&soon, sizeof soon), 0, 1), receive_last(bytes_of(&last, sizeof last), 0, 2);
  std::thread waiting([&] {
    const Engine::Guard own(second);
    second.set_observer(&answers);
    second.recv(receive_soon);
    second.recv(receive_last);
    second.wait_until([&] { return receive_last.state.done; });
    second.set_observer(nullptr);
  });
  const auto until = [](const auto& seen) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!seen() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return seen();
  };
  const auto send = [&](int tag) {
    Sent op(bytes_of(&out, sizeof out), 1, 0, tag);
    const Engine::Guard own(first);
    first.send(op);
    first.wait_until([&] { return op.state.done; });
  };
  EXPECT_TRUE(until([&] { return bed.sleeps > 0; }));
  bed.longest = 0;
  {
    const Engine::Guard own(first);
    first.send_control(1, {}, "word");
  }
  EXPECT_TRUE(until([&] { return answers.sleeps_then >= 0 && bed.sleeps > answers.sleeps_then; }));
  EXPECT_GT(bed.longest, 0);
  EXPECT_LT(bed.longest, kPolls / 10);
  send(1);
  EXPECT_TRUE(until([&] { return bed.longest >= kPolls; }));
  send(2);
  waiting.join();
}

// Where each yield hands a slice to others, as on a machine that computes as well, thousands of them would take seconds.
TEST(Control, SleepsAfterYieldsThatTakeLong) {
  transport::LoopbackFabric fabric{1, 7};
  Bed bed{fabric.at(0)};
  Engine engine{bed, 0, {.polls = 1, .yields = Waiting::kForEver - 1, .spreads = false, .adapts = false}};
  const Engine::Guard own(engine);
  engine.wait_until([&] { return bed.sleeps > 0; });
}

TEST(Control, DoesNotCountAsTraffic) {
  Pair pair;
  for (int tag = 0; tag < 4; ++tag) pair.control(tag);
  pair.pass();
  EXPECT_EQ(pair.heard.tags.size(), 4U);
  const auto visited = [](Engine& engine) {
    int count = 0;
    engine.each_peer([&](int, uint32_t, uint32_t) { ++count; });
    return count;
  };
  EXPECT_EQ(visited(pair.first), 0);
  EXPECT_EQ(visited(pair.second), 0);
  pair.exchange();
  EXPECT_EQ(visited(pair.first), 1);
  EXPECT_EQ(visited(pair.second), 1);
}

}  // namespace
}  // namespace tutti::engine
