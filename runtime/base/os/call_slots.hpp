// SPDX-License-Identifier: BSD-3-Clause
// What another library of this process calls.
#pragma once

#include <span>
#include <string_view>

namespace tutti {

// What to call instead of the function of this name; null: the same.
using Instead = void* (*)(std::string_view name);
// In the loaded libraries whose paths contain one of these. Not while a thread may be in them. Returns in how many places.
int redirect_calls(std::span<const std::string_view> libraries, Instead instead);

}  // namespace tutti
