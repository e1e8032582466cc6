// SPDX-License-Identifier: BSD-3-Clause
// What the times that `tutti tune` has taken say of the settings: which algorithm of a collective is worth a rule of its
// own, for which lengths, and whether long messages had better not be read. Pure, of figures alone.
//
// What is compared was taken in turns: a round has the times of the settings as they are shipped and, right behind, those
// of each other choice, so that what else the machine does meets all of them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::launcher {

// Seconds a call, as one job of ranks.c has printed them: by "COLLECTIVE BYTES MODE".
using Times = std::map<std::string, double>;
// Of what such a job printed, the lines that are times; whatever else it says is left out.
Times times_of(std::string_view printed);

// The algorithms that may serve two ranks of a node, beside each other: of reductions those that combine in the order of
// ranks, so that a choice changes no bit of a result.
struct Candidates {
  std::string_view collective;
  std::vector<std::string_view> algorithms;
};
std::span<const Candidates> candidates();
// Rules by which the algorithms of this place in candidates() serve; empty: none has so many.
std::string rules_of_trial(size_t place);

// One round at one placement of the ranks: the shipped choice, and by place in candidates() the others.
struct Round {
  Times shipped;
  std::vector<Times> trials;
};

// For blocks of more than `above` bytes, up to `up_to`. `ratio`: the time that is left, of the shipped choice's.
struct TunedRule {
  std::string collective, algorithm;
  int64_t above, up_to;
  double ratio;
  bool operator==(const TunedRule&) const = default;
};
// What is worth a rule: an algorithm that takes nine tenths of the time or less, in the mean of reused and fresh data, and
// is slower in neither, at none of the placements, at the median of the rounds. By placement, its rounds.
std::vector<TunedRule> worthwhile(const std::vector<std::vector<Round>>& placements);
// As the setting collectives.override has them.
std::string override_of(const std::vector<TunedRule>& rules);

// Of messages, where `trials` has one, without reading: how much of the time is left in the mean, and whether that is worth
// a setting.
struct WithoutReading {
  double ratio = 1;
  bool is_worthwhile = false;
};
WithoutReading without_reading(const std::vector<std::vector<Round>>& placements);

}  // namespace tutti::launcher
