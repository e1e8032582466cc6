// SPDX-License-Identifier: BSD-3-Clause
// Asks a process of its own (tutti-where --crash) for the report of a crash: it opens programs and libraries, whose file
// system may not answer, and looks into debug information, which may take seconds. The loop has other nodes to answer
// meanwhile.
#pragma once

#include <functional>
#include <string>

#include "launcher/loop/loop.hpp"
#include "launcher/loop/reaper.hpp"

namespace tutti::launcher {

class CrashQuestion {
 public:
  using Tell = std::function<void(const std::string& text)>;
  // As find_crash() has these. `tell` is called once, within some seconds, where `rank` has left a record; with the places
  // in files alone where the process is too slow.
  CrashQuestion(Loop& loop, Reaper& reaper, std::string folder, int rank, std::string node, Tell tell);
  ~CrashQuestion();
  CrashQuestion(const CrashQuestion&) = delete;

  bool is_over() const { return over_; }

 private:
  bool ask();
  void hear();
  void end();

  Reaper& reaper_;
  const std::string folder_, node_;
  const int rank_;
  const Tell tell_;
  int pid_ = -1, fd_ = -1;
  std::string said_;
  bool over_ = false;
  Watch heard_, late_;
};

// Whether a file of that rank is there at all.
bool has_crash_record(const std::string& folder, int rank);

}  // namespace tutti::launcher
