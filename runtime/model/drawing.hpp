// SPDX-License-Identifier: BSD-3-Clause
// What a call does at each rank, as a picture: time across, ranks down, a bar for each step, a line for each message.
// Text alone, of what a simulation has recorded (simulation.hpp).
#pragma once

#include <string>
#include <vector>

#include "model/simulation.hpp"

namespace tutti::model {

// More ranks, or steps, make a picture in which nothing can be seen.
inline constexpr int kMostRanksDrawn = 256;
inline constexpr size_t kMostStepsDrawn = 50'000;

// A page of SVG. `moments`: of all ranks of the job, in any order. `title`: what stands above it.
std::string drawing_of(const Job& job, std::vector<Moment> moments, const std::string& title);

// Seconds as people read them: "1.50 us".
std::string time_text(double seconds);

}  // namespace tutti::model
