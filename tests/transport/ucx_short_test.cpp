// SPDX-License-Identifier: BSD-3-Clause
// Short messages over UCX's tcp, transport to transport: what arrives, what is said of a message
// that the network does not take at once, and answers from within UCX.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <thread>
#include <vector>

#include "transport/ucx/ucx.hpp"

namespace tutti::transport {
namespace {

constexpr int64_t kLongest = 2048;

struct Ears final : Receiver {
  void arrived(const Arrival& arrival) override {
    const auto* begin = reinterpret_cast<const uint8_t*>(arrival.data);
    heads.push_back(arrival.header);
    bodies.emplace_back(begin, begin + arrival.header.bytes);
  }
  void unsent(int more) override { waiting += more; }
  std::vector<Header> heads;
  std::vector<std::vector<uint8_t>> bodies;
  int waiting = 0;
};

class UcxShortTest : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 2; ++i) {
      auto opened = Ucx::open({.tls = "tcp,self", .between_nodes = true});
      ASSERT_TRUE(opened) << std::move(opened).error().message();
      ucx[i] = *std::move(opened);
      ucx[i]->set_receiver(ears[i]);
      ucx[i]->set_address_book([this](int p) -> Result<std::string> { return ucx[p]->address(); });
    }
  }
  // The n-th message. True if it was taken.
  bool send(uint32_t n) {
    const std::vector<uint8_t> body = body_of(n);
    const Header header{.context = 9 + n,
                        .source = 4,
                        .tag = -static_cast<int>(n),
                        .order = n,
                        .bytes = static_cast<int64_t>(body.size())};
    return ucx[0]->send_now(1, header, n * uint64_t{3}, reinterpret_cast<const std::byte*>(body.data()));
  }
  static std::vector<uint8_t> body_of(uint32_t n) {
    std::vector<uint8_t> body(n * 37 % (kLongest + 1));
    for (size_t i = 0; i < body.size(); ++i) body[i] = static_cast<uint8_t>(i * 7 + n);
    return body;
  }
  void wait_for(uint32_t count) {
    while (ears[1].heads.size() < count || ears[0].waiting) {
      ucx[0]->progress();
      ucx[1]->progress();
    }
    EXPECT_EQ(ears[0].waiting, 0);
  }
  void check_arrived(uint32_t count) {
    ASSERT_EQ(ears[1].heads.size(), count);
    for (uint32_t n = 0; n < count; ++n) {
      const Header& head = ears[1].heads[n];
      ASSERT_EQ(head.order, n);
      EXPECT_EQ(head.context, 9 + n);
      EXPECT_EQ(head.source, 4);
      EXPECT_EQ(head.tag, -static_cast<int>(n));
      EXPECT_EQ(head.ticket, n * uint64_t{3});
      EXPECT_EQ(ears[1].bodies[n], body_of(n));
    }
  }

  std::unique_ptr<Ucx> ucx[2];
  Ears ears[2];
};

TEST_F(UcxShortTest, ArriveWithEveryByte) {
  constexpr uint32_t kMessages = 3000;
  for (uint32_t n = 0; n < kMessages;) {
    if (send(n)) ++n;
    ucx[0]->progress();
    if (n % 50 == 0 || ears[0].waiting) ucx[1]->progress();  // many come at once
  }
  wait_for(kMessages);
  check_arrived(kMessages);
}

// The receiver does not look: one message may stay behind, which is told, and no more are taken until
// it has left.
TEST_F(UcxShortTest, OneMayWaitAndIsCounted) {
  ASSERT_TRUE(send(0));  // waits for the connection
  wait_for(1);
  uint32_t sent = 1;
  for (; ears[0].waiting == 0; ++sent) {
    ASSERT_TRUE(send(sent)) << "after " << sent;
    ASSERT_LT(sent, 10'000'000U) << "no socket holds that much";
  }
  EXPECT_EQ(ears[0].waiting, 1);
  for (int i = 0; i < 100; ++i) {
    ucx[0]->progress();
    if (ears[0].waiting) {
      EXPECT_FALSE(send(sent));
    }
  }
  wait_for(sent);
  EXPECT_TRUE(send(sent));
  wait_for(sent + 1);
  check_arrived(sent + 1);
}

TEST_F(UcxShortTest, LongerOnesAreNotForIt) {
  std::vector<std::byte> body(kLongest + 1);
  EXPECT_FALSE(ucx[0]->send_now(1, {.bytes = kLongest + 1}, 0, body.data()));
}

// Answers each message but the first at once: the first answer is for a peer that is not connected,
// while more of its messages lie in the buffer that UCX is handing out.
struct Answering final : Receiver {
  enum class How { now, sent, notice };
  Answering(Ucx& mine, How way) : ucx(mine), how(way) {}

  void arrived(const Arrival& arrival) override {
    const Header& head = heads.emplace_back(arrival.header);
    if (heads.size() == 1) return;
    const Header answer{.context = 1, .source = 1, .order = head.order};
    if (how == How::notice) return ucx.notify(0, answer);
    if (how == How::now && ucx.send_now(0, answer, 0, nullptr)) return;
    Outgoing& outgoing = out.emplace_back();
    outgoing.header = answer;
    outgoing.owner = this;
    outgoing.sent = [](Outgoing& o, Error e) {
      EXPECT_FALSE(e) << e.message();
      ++static_cast<Answering*>(o.owner)->left;
    };
    ucx.send(0, outgoing);
  }
  void unsent(int) override {}

  Ucx& ucx;
  How how;
  std::vector<Header> heads;
  std::deque<Outgoing> out;
  size_t left = 0;
};

class UcxAnswersTest : public UcxShortTest, public testing::WithParamInterface<Answering::How> {
 protected:
  // Each waits for the other to acknowledge what it sent.
  void TearDown() override {
    std::thread other([this] { ucx[0].reset(); });
    ucx[1].reset();
    other.join();
  }
};

TEST_P(UcxAnswersTest, ConnectAmidABurstOfMessages) {
  constexpr uint32_t kMessages = 20;
  Answering answering(*ucx[1], GetParam());
  ucx[1]->set_receiver(answering);
  ASSERT_TRUE(send(0));
  while (answering.heads.empty() || ears[0].waiting) {
    ucx[0]->progress();
    ucx[1]->progress();
  }
  for (uint32_t n = 1; n < kMessages; ++n) ASSERT_TRUE(send(n));  // nobody looks: they come at once
  while (ears[0].heads.size() < kMessages - 1 || answering.left < answering.out.size()) {
    ucx[0]->progress();
    ucx[1]->progress();
  }
  ASSERT_EQ(answering.heads.size(), kMessages);
  for (uint32_t n = 1; n < kMessages; ++n) {
    EXPECT_EQ(answering.heads[n].order, n);
    EXPECT_EQ(ears[0].heads[n - 1].order, n);
  }
}

// Both have connections to close, and what the one sent is still to be read: the engine that would
// take it is gone by then.
class UcxCloseTest : public UcxShortTest, public testing::WithParamInterface<int64_t> {};

TEST_P(UcxCloseTest, WhatComesMeanwhileIsNobodys) {
  struct Gone final : Receiver {
    void arrived(const Arrival&) override {
      if (is_gone) ADD_FAILURE() << "a message came to a receiver that is gone";
      ++count;
    }
    void unsent(int) override {}
    bool is_gone = false;
    int count = 0;
  } receiver;
  ucx[1]->set_receiver(receiver);
  ASSERT_TRUE(ucx[0]->send_now(1, {}, 0, nullptr));
  ASSERT_TRUE(ucx[1]->send_now(0, {}, 0, nullptr));
  while (receiver.count == 0 || ears[0].heads.empty() || ears[0].waiting) {
    ucx[0]->progress();
    ucx[1]->progress();
  }
  std::vector<std::byte> body(static_cast<size_t>(GetParam()));
  Outgoing outgoing;
  outgoing.header.bytes = GetParam();
  outgoing.payload = {.base = body.data(), .count = GetParam()};
  outgoing.sent = [](Outgoing&, Error) {};
  ucx[0]->send(1, outgoing);

  receiver.is_gone = true;
  std::thread other([this] { ucx[0].reset(); });
  ucx[1].reset();
  other.join();
}

INSTANTIATE_TEST_SUITE_P(Each, UcxCloseTest, testing::Values(int64_t{4} << 10, int64_t{200} << 10));

INSTANTIATE_TEST_SUITE_P(Each, UcxAnswersTest,
                         testing::Values(Answering::How::now, Answering::How::sent, Answering::How::notice));

}  // namespace
}  // namespace tutti::transport
