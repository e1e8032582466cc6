// SPDX-License-Identifier: BSD-3-Clause
// The known name that a mistyped one most likely meant: settings, options and commands all suggest
// through this. Knows nothing of what the names stand for.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tutti {

// Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`.
int edit_distance(std::string_view a, std::string_view b);

// The closest of `names`, or an empty string when none is close enough to be worth naming.
std::string nearest_name(std::string_view word, std::span<const std::string_view> names);

// "; did you mean 'X'?" or an empty string: the usual tail of a message.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> names, std::string_view prefix = "");

}  // namespace tutti
