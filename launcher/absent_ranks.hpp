// SPDX-License-Identifier: BSD-3-Clause
// Ranks that wait in MPI_Init for others that have left the job without coming there: the sentence that blames these.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "launcher/job_nodes.hpp"
#include "launcher/loop/loop.hpp"

namespace tutti::launcher {

class AbsentRanks {
 public:
  using Blame = std::function<void(const std::string& sentence)>;
  AbsentRanks(Loop& loop, const JobNodes& nodes, Blame blame) : loop_(loop), nodes_(nodes), blame_(std::move(blame)) {}

  void waits(int rank);  // it says so again and again
  void has_left(int rank, int pid, bool connected);

 private:
  struct Departed {
    int pid;
    bool connected;
    std::chrono::steady_clock::time_point when;
  };
  void check_start(bool just_said);
  void blame_absent();

  Loop& loop_;
  const JobNodes& nodes_;
  Blame blame_;
  // Ranks that have said that they wait in MPI_Init, and when they last did.
  std::map<int, std::chrono::steady_clock::time_point> waiting_;
  std::map<int, Departed> departed_;  // ranks that have ended well
  std::set<int> absent_;              // those of them that others wait for there
  Watch roll_call_;
};

}  // namespace tutti::launcher
