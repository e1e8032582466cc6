// SPDX-License-Identifier: BSD-3-Clause
// A profile's timeline as trace events in JSON, which Perfetto (ui.perfetto.dev) and Chromium's about:tracing read: a
// process for each rank, a slice for each call, and flows for messages, from the call that sends to the one that receives.
// Pure. https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU is the format.
#pragma once

#include <string>
#include <vector>

#include "launcher/data/rank_profile.hpp"

namespace tutti::launcher {

std::string profile_trace(const std::vector<RankProfile>& ranks);

}  // namespace tutti::launcher
