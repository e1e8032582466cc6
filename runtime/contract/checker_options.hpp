// SPDX-License-Identifier: BSD-3-Clause
// The settings contract.* (man/tutti.yaml.5).
#pragma once

#include <chrono>
#include <cstdint>

namespace tutti::contract {

enum class CheckLevel : uint8_t { off, basic, strict };

struct CheckOptions {
  CheckLevel level = CheckLevel::basic;
  bool report_only = false;                                            // a finding is printed and nothing else happens
  std::chrono::nanoseconds ask_after{std::chrono::milliseconds(300)};  // a wait asks whom it waits for
  std::chrono::nanoseconds standstill{std::chrono::seconds(3)};        // before a deadlock is looked for
  // No setting: how long the members of a communicator have for their answers, and process 0 for its own.
  std::chrono::nanoseconds answer_time{std::chrono::milliseconds(700)};
};

}  // namespace tutti::contract
