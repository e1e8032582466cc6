// SPDX-License-Identifier: BSD-3-Clause
// mpirun --gdb: a gdb for each rank, in windows of a tmux of the job's own, which ends with the job.
#pragma once

#include <functional>
#include <string>

#include "base/result.hpp"
#include "launcher/data/rank_groups.hpp"
#include "launcher/data/rank_view.hpp"
#include "launcher/loop/loop.hpp"

namespace tutti::launcher {

class Debuggers {
 public:
  using Answer = std::function<void(const JobView&)>;
  // `ends`: whether the job does. A debugger that stands at its prompt keeps its rank, though this is killed, and so the
  // job: then all of them are ended. `ask`: what the ranks are doing. `ranks`: how many there are. `rsh`: reaches other nodes.
  Debuggers(Loop& loop, std::string job_id, int ranks, std::string rsh, std::function<bool()> ends,
            std::function<void(Answer)> ask);

  // Whether there is what it needs on this machine.
  static Error check();

 private:
  void look();
  void open(const JobView& view);

  Loop& loop_;
  std::string job_id_, rsh_;
  int ranks_;
  std::function<bool()> ends_;
  std::function<void(Answer)> ask_;
  Watch timer_;
  bool asked_ = false, opened_ = false;
};

}  // namespace tutti::launcher
