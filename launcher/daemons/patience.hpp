// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <chrono>

namespace tutti::launcher {

// How long what many say alike waits for others: until nobody has said it for a moment, and in any case no longer than a
// quarter of a second, so that nobody waits for it long behind several daemons.
inline constexpr std::chrono::milliseconds kQuiet{50}, kLongestWait{250};

// From now on, where the first was said then.
inline std::chrono::nanoseconds patience_left(std::chrono::steady_clock::time_point first) {
  const std::chrono::nanoseconds left = first + kLongestWait - std::chrono::steady_clock::now();
  return std::clamp<std::chrono::nanoseconds>(left, std::chrono::nanoseconds(0), kQuiet);
}

}  // namespace tutti::launcher
