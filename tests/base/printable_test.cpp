// SPDX-License-Identifier: BSD-3-Clause
#include "base/printable.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tutti {
namespace {

TEST(Printable, TextStaysAsItIs) {
  for (const char* text : {"", "plain", "a b", "Zürich, Łódź, 東京, 🎼", "tab\\n"}) EXPECT_EQ(printable(text), text);
}

TEST(Printable, WhatATerminalObeysIsShown) {
  EXPECT_EQ(printable("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(printable("a\nb\tc\rd"), "a\\x0ab\\x09c\\x0dd");
  EXPECT_EQ(printable("a\nb\tc\rd", "\n\t"), "a\nb\tc\\x0dd");
  EXPECT_EQ(printable(std::string_view("\0\x7f", 2)), "\\x00\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b2J");  // CSI in one character
  EXPECT_EQ(printable("\x9b"
                      "2J"),
            "\\x9b2J");  // and in one byte
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "abc"),
            "\\xe2\\x80\\xaeabc");  // from right to left
}

TEST(Printable, WhatIsNoUtf8IsShown) {
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(printable("\xc0\x80"), "\\xc0\\x80");  // longer than it need be
  EXPECT_EQ(printable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half of a pair
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\xc3"), "\\xc3");  // cut
  EXPECT_EQ(printable("\xc3(x"), "\\xc3(x");
}

TEST(Printable, AnyBytesBecomeHarmlessAndStaySo) {
  std::mt19937_64 random(33);
  for (int round = 0; round < 20000; ++round) {
    std::string text(random() % 40, 0);
    for (char& c : text) c = static_cast<char>(random());
    const std::string once = printable(text);
    for (const unsigned char c : once) EXPECT_TRUE(c >= 0x20 && c != 0x7f);
    EXPECT_EQ(printable(once), once);
  }
}

}  // namespace
}  // namespace tutti
