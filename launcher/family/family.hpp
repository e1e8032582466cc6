// SPDX-License-Identifier: BSD-3-Clause
// Jobs that spawn each other by PMIx, in the launcher of the first one: it starts the launchers of the others, knows who
// they are, and passes on what they say to each other (kin.hpp). Whose end is whose is known here, too: jobs are tied
// from the spawn on, and by PMIx_Connect, until they part.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "launcher/daemons/link.hpp"
#include "launcher/family/kin.hpp"
#include "launcher/family/kin_launcher.hpp"
#include "launcher/family/names.hpp"
#include "launcher/loop/reaper.hpp"

namespace tutti::launcher {

class Family {
 public:
  // `tell_first`: brings a word to the first job.
  Family(Loop& loop, Reaper& reaper, std::function<void(const std::string& word)> tell_first);
  ~Family();

  void hear_first(const std::string& word);
  void first_is_over();  // well or not: no other job's end is its end any more
  bool is_alone() const { return members_.size() == 1; }
  void when_alone(std::function<void()> then) { alone_ = std::move(then); }

 private:
  static constexpr int kFirst = 0;
  struct Member {
    NodeTask task;
    std::string name;  // the namespace; empty until it is introduced
    bool launched = false, failed = false, over = false;
    // Of those that are spawned.
    std::unique_ptr<Link> link;
    KinLauncher process;
    int spawner = kFirst;
    uint64_t number = 0;  // of the spawner's question
    std::string who;      // of its processes
    bool closed = false;
    std::optional<int> wait_status;
  };
  struct Asker {
    int member;
    uint64_t number;
  };
  using TieOf = std::pair<int, int>;  // members, the smaller number first

  bool hear(int from, std::string_view word);
  void tell(int to, const std::string& word);
  void reply(const Asker& to, const Reply& reply);
  void introduce(int from, NodeTask task);
  void launched(int from);
  void failed(int from, int exit_code);
  void ask(int from, uint64_t number, const Ask& ask);
  void spawn(int from, uint64_t number, const Ask& ask);
  Error add_options(const Ask& ask, std::vector<std::string>& arguments) const;
  std::string spawner_of(const Member& child) const;
  void tell_not_started(const Member& child, const std::string& why);
  void tell_killed(const Member& child) const;
  void meet(int from, const std::string& key, const std::string& data);
  void met(const std::string& key, int status);
  void change_ties(const std::string& key);
  void watch(int child);
  void gone(int child);
  void leave_waiting(int member);
  void end_others(int exit_code);
  int member_named(const std::string& name) const;  // -1: none

  Loop& loop_;
  Reaper& reaper_;
  std::function<void(const std::string&)> tell_first_;
  std::map<int, Member> members_;
  int next_member_ = 1;
  std::map<TieOf, int> ties_;                                   // how often they have connected and not parted
  std::set<TieOf> only_spawned_;                                // of these: they have not connected yet, but will
  std::map<std::string, std::map<int, std::string>> meetings_;  // who has come, with what
  std::map<uint64_t, std::pair<int, Asker>> wants_;             // of whom, and for whom
  uint64_t next_want_ = 1;
  Names names_;
  bool ending_ = false;
  Watch patience_;
  std::function<void()> alone_;
};

}  // namespace tutti::launcher
