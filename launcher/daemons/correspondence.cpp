// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/daemons/correspondence.hpp"

#include <algorithm>

namespace tutti::launcher {

// A letter: its number (0: a receipt alone), how many of the other side's have come, and the word.
std::string Correspondence::put(Message type, std::string_view payload) {
  told_ = taken_;
  return unread_.emplace_back(wire::pack(++put_, taken_, type, std::string(payload)));
}

std::string Correspondence::receipt() {
  told_ = taken_;
  return wire::pack(uint64_t{0}, taken_, Message::ping, std::string());
}

Correspondence::Arrival Correspondence::take(std::string_view letter) {
  uint64_t number = 0, have = 0;
  Word word;
  if (!wire::unpack(letter, number, have, word.type, word.payload) || have > put_) return {};
  // A letter that has come late, over a way that was left, may know of less than an earlier one.
  const uint64_t first = put_ - unread_.size() + 1;
  for (uint64_t n = first; n <= have; ++n) unread_.pop_front();
  // One that has come before, or over a way that has been mended, ahead of what was lost there: that is said again, and
  // this one behind it.
  if (number != taken_ + 1) return {.is_sound = true, .word = {}};
  ++taken_;
  return {.is_sound = true, .word = std::move(word)};
}

}  // namespace tutti::launcher
