// SPDX-License-Identifier: BSD-3-Clause
// The count of messages: what is told of it, and what is believed.
#include "launcher/daemons/traffic.hpp"

#include <gtest/gtest.h>

namespace tutti::launcher {
namespace {

TEST(Traffic, SumsByKindWithTheFramesOfMessages) {
  Traffic traffic;
  EXPECT_EQ(traffic.text(), "0 messages of 0 bytes");
  traffic.count(Message::finished, 0);
  traffic.count(Message::launch, 100);
  traffic.count(Message::launch, 20);
  EXPECT_EQ(traffic.text(), "3 messages of 135 bytes: launch 2 (130 bytes), finished 1 (5 bytes)");
}

TEST(Traffic, WhatADaemonHasCountedIsAdded) {
  Traffic below, own;
  below.count(Message::fence, 7);
  below.count(Message::launch, 1);
  own.count(Message::launch, 2);
  EXPECT_TRUE(own.add(below.packed()));
  EXPECT_EQ(own.text(), "3 messages of 25 bytes: launch 2 (13 bytes), fence 1 (12 bytes)");
}

TEST(Traffic, NonsenseIsRefusedAndAddsNothing) {
  Traffic below, own;
  below.count(Message::launch, 1);
  below.count(static_cast<Message>(200), 1);
  EXPECT_FALSE(own.add(below.packed()));
  EXPECT_FALSE(own.add(""));
  EXPECT_FALSE(own.add(Traffic().packed() + "x"));
  EXPECT_EQ(own.text(), "0 messages of 0 bytes");
}

}  // namespace
}  // namespace tutti::launcher
