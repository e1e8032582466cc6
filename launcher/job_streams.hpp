// SPDX-License-Identifier: BSD-3-Clause
// The standard streams of a job: what ranks write goes from their nodes to the launcher's own streams and to files, and
// what it reads goes to the node of the rank that is to read it, or to all.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "launcher/job_nodes.hpp"
#include "launcher/output_files.hpp"
#include "launcher/terminal.hpp"

namespace tutti::launcher {

class JobStreams {
 public:
  struct Means {
    std::function<void()> written;                                        // something, or everything is dropped
    std::function<void(int exit_code, const std::string&)> cannot_go_on;  // no sentence: nobody reads any more
  };
  JobStreams(Loop& loop, JobNodes& nodes, const OutputShape& shape, Means job);

  void give_input_to(int rank) { input_rank_ = rank; }  // kEveryRank: to each
  // The same of NodeEvents.
  void output(int node, int rank, OutputStream stream, std::string bytes);
  void note(int node, const std::string& line);
  void remark(Level level, const std::string& line);
  void input_wanted(int node);
  void node_lost() { input_wanted_if_by_all(); }  // which others need not wait for

  void show(const std::string& text) { err_->put(0, text, 0); }
  // Whoever has asked for the job's end does not wait for a reader that has stopped reading.
  void set_unwanted() { unwanted_ = true; }
  void drop_if_unwanted();
  bool are_idle() const { return out_->idle() && err_->idle(); }

 private:
  void read(std::string bytes);
  void input_wanted_if_by_all();
  std::string lost_output(const char* stream, const std::string& why);  // what it has said

  Loop& loop_;
  JobNodes& nodes_;
  OutputFiles files_;
  Means job_;
  const bool one_place_;  // both of the launcher's streams end there
  int input_rank_ = 0;
  std::set<int> input_wanted_by_;  // nodes, where all ranks read it
  std::set<std::string> remarks_;  // that are told
  bool unwanted_ = false;
  Watch patience_;
  std::unique_ptr<Writer> out_, err_;
  std::unique_ptr<Reader> in_;
};

}  // namespace tutti::launcher
