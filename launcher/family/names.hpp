// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a family of jobs publish for each other (PMIx_Publish and its kin), by which Open MPI 5 finds the
// other side of MPI_Comm_spawn, connect and accept.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <string>

#include "launcher/data/kin.hpp"
#include "launcher/loop/loop.hpp"

namespace tutti::launcher {

class Names {
 public:
  using Answer = std::function<void(const Reply&)>;
  explicit Names(Loop& loop) : loop_(loop) {}
  void publish(const Ask& ask, const Answer& answer);
  void look_up(const Ask& ask, Answer answer);
  void unpublish(const Ask& ask, const Answer& answer);
  // Nobody of that namespace waits for an answer any more.
  void forget(const std::string& nspace);

 private:
  struct Entry {
    std::string value, publisher;
    bool once = false;
  };
  struct Waiting {
    Ask ask;
    Answer answer;
    Watch bound;
  };
  bool has_all(const Ask& ask) const;
  Reply take(const Ask& ask);
  void serve();

  Loop& loop_;
  std::map<std::string, Entry> entries_;
  std::list<Waiting> waiting_;  // the longest-waiting first
};

}  // namespace tutti::launcher
