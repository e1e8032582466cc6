// SPDX-License-Identifier: BSD-3-Clause
// A cause of a job's end that is not blamed at once, since a better one may be heard of a moment later: a rank that
// aborts may do so because another is gone whose end takes longer to be heard of (it is on another node, or is a large
// process).
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "launcher/loop/loop.hpp"
#include "mpi.h"

namespace tutti::launcher {

class Suspicion {
 public:
  using Blame = std::function<void(int exit_code, const std::string& sentence)>;
  Suspicion(Loop& loop, Blame blame) : loop_(loop), blame_(std::move(blame)) {}

  bool is_open() const { return suspect_.has_value(); }
  // The first one counts.
  void suspect(int exit_code, const std::string& sentence, bool several_nodes) {
    if (suspect_) return;
    suspect_ = {exit_code, sentence};
    doubt_ = loop_.after(several_nodes ? kBenefitOfDistance : kBenefitOfDoubt, [this] { blame_now(); });
  }
  void blame_now() {
    doubt_.reset();
    if (const auto blamed = std::exchange(suspect_, std::nullopt)) blame_(blamed->first, blamed->second);
  }
  // A report of several lines is not lost, whatever has come before it, unless it only says that somebody whose end has
  // just been told could not be reached.
  std::string report() const {
    if (!suspect_ || suspect_->first == MPI_ERR_PROC_ABORTED) return "";
    return suspect_->second.find('\n') == std::string::npos ? "" : suspect_->second;
  }

 private:
  // For a rank that aborts, on one node and on several.
  static constexpr std::chrono::milliseconds kBenefitOfDoubt{100}, kBenefitOfDistance{250};

  Loop& loop_;
  Blame blame_;
  std::optional<std::pair<int, std::string>> suspect_;  // exit code, sentence
  Watch doubt_;
};

}  // namespace tutti::launcher
