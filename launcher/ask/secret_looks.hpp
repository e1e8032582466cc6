// SPDX-License-Identifier: BSD-3-Clause
// What a secret looks like in a text. Pure.
#pragma once

#include <string>
#include <string_view>

namespace tutti::launcher {

inline constexpr std::string_view kLeftOut = "(left out)";

// The text without values of names that say so ("password: x", "--token x", "API_KEY=x"), without what a URL says before
// its '@', without blocks of private keys, and without words that look as if chance had made them.
std::string without_secret_looks(std::string_view text);

}  // namespace tutti::launcher
