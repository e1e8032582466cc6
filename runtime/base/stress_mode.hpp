// SPDX-License-Identifier: BSD-3-Clause
// What --stress=HOW and the setting contract.stress say.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tutti {

struct StressMode {
  enum class Kind : uint8_t { off, sync, loose, random } kind = Kind::off;
  uint64_t seed = 0;  // of random
};

inline constexpr std::string_view kStressModes = "off, sync, loose or random:SEED";

inline std::optional<StressMode> stress_mode(std::string_view text) {
  using Kind = StressMode::Kind;
  if (text == "off") return StressMode{};
  if (text == "sync") return StressMode{Kind::sync};
  if (text == "loose") return StressMode{Kind::loose};
  constexpr std::string_view kRandom = "random:";
  if (!text.starts_with(kRandom)) return std::nullopt;
  StressMode mode{Kind::random};
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data() + kRandom.size(), end, mode.seed);
  if (problem != std::errc() || rest != end) return std::nullopt;
  return mode;
}

}  // namespace tutti
