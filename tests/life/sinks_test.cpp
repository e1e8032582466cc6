// SPDX-License-Identifier: BSD-3-Clause
// Who hears of which events. Sinks live as long as the process: the tests' are static, and listen to nothing at the end.
#include "life/sinks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

namespace tutti::life {
namespace {

class Heard final : public Sink {
 public:
  std::vector<Event> take() { return std::exchange(events_, {}); }

 private:
  void hears(const Event& event) override { events_.push_back(event); }
  std::vector<Event> events_;
};

constexpr Event kMatched{.what = Happening::message_matched, .source = 3, .tag = 7, .context = 4, .bytes = 8};
constexpr Event kBegun{.what = Happening::collective_begun, .context = 4};

TEST(Sinks, HearWhatTheyListenToAndNothingElse) {
  static Heard messages, all;
  EXPECT_FALSE(is_wanted(kMatched.what));
  messages.listen(bit(kMatched.what));
  EXPECT_TRUE(is_wanted(kMatched.what));
  EXPECT_FALSE(is_wanted(kBegun.what));
  tell(kMatched);
  tell(kBegun);
  const std::vector<Event> heard = messages.take();
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_EQ(heard[0].source, 3);
  EXPECT_EQ(heard[0].tag, 7);
  EXPECT_EQ(heard[0].context, 4U);
  EXPECT_EQ(heard[0].bytes, 8);

  all.listen(kEvery);
  tell(kMatched);
  tell(kBegun);
  EXPECT_EQ(messages.take().size(), 1U);
  EXPECT_EQ(all.take().size(), 2U);

  messages.listen(0);
  EXPECT_TRUE(is_wanted(kMatched.what)) << "the other one still listens";
  all.listen(0);
  EXPECT_FALSE(is_wanted(kMatched.what));
  tell(kMatched);
  EXPECT_TRUE(messages.take().empty());
  EXPECT_TRUE(all.take().empty());
}

class Counted final : public Sink {
 public:
  std::atomic<int> count{0};

 private:
  void hears(const Event&) override { ++count; }
};

// A tool may come and go while the engine's owner tells.
TEST(Sinks, ComeAndGoWhileOthersTell) {
  static Counted stays, comes[8];
  stays.listen(kEvery);
  std::atomic<bool> over{false};
  std::thread owner([&] {
    for (int i = 0; i < 20'000; ++i)
      if (is_wanted(kMatched.what)) tell(kMatched);
    over = true;
  });
  do
    for (Counted& one : comes) one.listen(one.count % 2 ? 0 : kEvery);
  while (!over);
  owner.join();
  EXPECT_EQ(stays.count, 20'000);
  for (Counted& one : comes) one.listen(0);
  stays.listen(0);
  EXPECT_FALSE(is_wanted(kMatched.what));
}

}  // namespace
}  // namespace tutti::life
