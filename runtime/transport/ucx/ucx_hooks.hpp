// SPDX-License-Identifier: BSD-3-Clause
// What UCX's libraries call. And what keeps their hooks into memory calls from crashing programs that run under
// ThreadSanitizer.
#pragma once

#include <span>
#include <string_view>

namespace tutti::transport {

// What to call instead of the function of this name; null: the same.
using Instead = void* (*)(std::string_view name);
// In the loaded libraries whose paths contain one of these. Not while a thread may be in them. Returns in how many places.
int redirect_calls(std::span<const std::string_view> libraries, Instead instead);

// To be called while the library is loaded, once UCX is, and before there is a thread that could end. Does nothing in
// other programs.
void spare_thread_sanitizer();

}  // namespace tutti::transport
