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

  // Whether the collectives among ranks of a node may go through shared memory. A lane holds a few
  // calls only, so that loose, which lets ranks run ahead, needs messages; random takes turns.
  bool shares_collectives() const {
    return kind == Kind::off || kind == Kind::sync || (kind == Kind::random && seed % 2 == 0);
  }
};

// Chance that is the same in every run with the same seed.
constexpr uint64_t mixed(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9e3779b97f4a7c15u ^ (b + 0x7f4a7c159e3779b9u);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}
// For how many passes of an engine something is late: half is not, some are by much.
constexpr uint64_t passes_late(uint64_t luck) {
  const uint64_t most = luck % 2 == 0 ? 0 : luck % 32 == 1 ? 3000 : 40;
  return most ? (luck >> 8) % most : 0;
}

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
