// SPDX-License-Identifier: BSD-3-Clause
// The matcher against plain lists that are walked over: few of each and thousands, with wildcards
// and without, in several contexts, with receives and messages that are withdrawn.
#include "engine/matcher.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <list>
#include <memory>
#include <random>
#include <vector>

namespace tutti::engine {
namespace {

bool fits(const Match& want, const transport::Header& have) {
  return want.context == have.context && (want.source == kAnySource || want.source == have.source) &&
         (want.tag == kAnyTag || want.tag == have.tag);
}

class Model {
 public:
  explicit Model(unsigned seed, int tags) : random_(seed), tags_(tags) {}

  // A receive: it takes the earliest message that fits, or is posted.
  void receive() {
    const Match want = wanted();
    const auto at = std::ranges::find_if(messages_, [&](const auto& m) { return fits(want, m); });
    Unexpected* const seen = matcher_.find(want);
    const std::unique_ptr<Unexpected> got(matcher_.take(want));
    ASSERT_EQ(got.get(), seen);
    ASSERT_EQ(got != nullptr, at != messages_.end());
    if (got) {
      ASSERT_EQ(got->header.ticket, at->ticket);
      messages_.erase(at);
      return;
    }
    receives_.push_back(std::make_unique<RecvOperation>());
    receives_.back()->match = want;
    matcher_.post(*receives_.back());
  }
  // A message: the earliest receive that fits takes it, or it is kept.
  void message() {
    transport::Header header;
    header.context = context();
    header.source = below(kSources);
    header.tag = below(tags_);
    header.process = header.source;
    header.ticket = below(10) ? ++tickets_ : 0;
    const auto at = std::ranges::find_if(receives_, [&](const auto& r) { return fits(r->match, header); });
    RecvOperation* const got = matcher_.match(header);
    ASSERT_EQ(got, at == receives_.end() ? nullptr : at->get());
    if (got) {
      ASSERT_FALSE(got->posted);
      receives_.erase(at);
      return;
    }
    std::unique_ptr<Unexpected> message(new Unexpected);
    message->header = header;
    matcher_.add(std::move(message));
    messages_.push_back(header);
  }
  void withdraw_receive() {
    if (receives_.empty()) return;
    const auto at = std::next(receives_.begin(), below(static_cast<int>(receives_.size())));
    matcher_.withdraw(**at);
    receives_.erase(at);
  }
  void withdraw_message() {
    if (messages_.empty()) return;
    const auto at = std::next(messages_.begin(), below(static_cast<int>(messages_.size())));
    if (at->ticket == 0) return;
    ASSERT_EQ(matcher_.take_ticket(at->process + 1, at->ticket), nullptr);
    const auto got = matcher_.take_ticket(at->process, at->ticket);
    ASSERT_NE(got, nullptr);
    ASSERT_EQ(got->header.ticket, at->ticket);
    messages_.erase(at);
  }
  // More of the one in some stretches, of the other in others; and at times none is left.
  void run(int steps, int stretch) {
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) {
      const bool more_messages = i / stretch % 2;
      const int dice = below(20);
      if (dice == 0) {
        withdraw_receive();
      } else if (dice == 1) {
        withdraw_message();
      } else if ((dice < 16) == more_messages) {
        message();
      } else {
        receive();
      }
      ASSERT_EQ(matcher_.posted(), receives_.size());
      ASSERT_EQ(matcher_.unexpected(), messages_.size());
    }
    size_t posted = 0;
    matcher_.each_posted([&](const RecvOperation&) { ++posted; });
    EXPECT_EQ(posted, receives_.size());
    while (!receives_.empty()) withdraw_receive();
    EXPECT_EQ(matcher_.posted(), 0u);
  }

 private:
  static constexpr int kSources = 5;
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  uint64_t context() { return 2 + 2 * static_cast<uint64_t>(below(3)); }
  Match wanted() {
    Match want{context(), below(kSources), below(tags_), 0};
    if (below(3) == 0) want.source = kAnySource;
    if (below(4) == 0) want.tag = kAnyTag;
    return want;
  }

  std::mt19937 random_;
  const int tags_;
  Matcher matcher_;
  std::list<std::unique_ptr<RecvOperation>> receives_;
  std::list<transport::Header> messages_;
  uint64_t tickets_ = 0;
};

TEST(Matcher, does_as_lists_do) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    Model(seed, 3).run(2'000, 20);       // short lists
    Model(seed, 2'000).run(3'000, 700);  // long ones, and tags that seldom meet
    Model(seed, 40).run(3'000, 300);
  }
}

}  // namespace
}  // namespace tutti::engine
