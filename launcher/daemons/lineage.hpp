// SPDX-License-Identifier: BSD-3-Clause
// How a tree of daemons heals where the job survives the death of nodes (--on-failure=continue), as three machines that
// are handed events and the time, and say what is to be done. No sockets and no clock: a test runs them among made-up
// members (tests/survival/lineage_test.cpp).
//
//   Tenure   in each daemon: beats to the one above it, and goes to one higher up where that has gone or is silent
//   Vigil    in whoever has daemons below it: hears their beats
//   Lineage  in mpirun, which alone decides who is below whom and who is dead, each once and for ever
//
// A beat that is answered is a *lease*: the daemon, and what runs on its node, may live until so long after it has sent that
// beat. The one above counts its longer *suspicion* from when the beat has come, which is later. So whoever is called dead
// for its silence has ended itself before, however long messages take and whoever was stopped, as long as clocks run alike.
//
//        time in beats   0         1        7/4    5/2  11/4   3
//   the daemon           beat      beat     seeks another above it
//                                                  ends itself
//                                                        is ended by its watchdog, if it is stopped
//   the one above        has come  (lost)                      calls it silent
//
// The answers of one that is cut off itself end with its own lease. Its children, if they do not come to another place,
// end within one lease behind it, and mpirun waits for a suspicion from when it has called the one above them dead.
// A daemon that changes its place says so on the way that it leaves: then the end of that connection is not its death. It
// has a lease from the new place only when mpirun has confirmed that, which knows no dead one any more; and since places
// are numbered by those who take them, what is said of an earlier one is no news.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace tutti::launcher {

using Moment = std::chrono::steady_clock::time_point;

struct Pace {
  std::chrono::nanoseconds beat{0};
  std::chrono::nanoseconds patience() const { return beat * 7 / 4; }
  std::chrono::nanoseconds lease() const { return beat * 5 / 2; }
  std::chrono::nanoseconds enforced() const { return beat * 11 / 4; }
  std::chrono::nanoseconds suspicion() const { return beat * 3; }
  std::chrono::nanoseconds look() const { return beat / 16; }  // how often the machines want to be asked
};

class Tenure {
 public:
  struct Action {
    enum class What {
      beat,      // to the one above, with this number
      approach,  // give up the place that there is, or was approached, and ask for one below this ancestor
      end,       // with all that runs here
    };
    What what = What::end;
    int number = 0;
  };
  // `ancestors`: from the one above, which is number 0, to mpirun. This daemon begins below the first.
  Tenure(Pace pace, int ancestors, Moment now);

  void answered(int beat);          // by the one above
  void lost() { lost_ = true; }     // the connection to the one above, or to the one that is approached
  void greeted(Moment now);         // by the one that is approached: it lives
  void adopted(Moment now);         // by it, as mpirun has confirmed
  void condemn() { ends_ = true; }  // mpirun has gone, or has called this daemon dead
  std::vector<Action> pass(Moment now);

  // Of the place that it has or approaches, among those that it has had.
  int epoch() const { return epoch_; }
  Moment lease_ends() const { return leased_ + pace_.lease(); }
  bool has_lease(Moment now) const { return !ends_ && now < lease_ends(); }

 private:
  bool at_mpirun() const { return above_ == ancestors_ - 1; }
  Action approach_next(Moment now);

  Pace pace_;
  int ancestors_, above_ = 0, approached_ = -1, epoch_ = 0, beat_ = 0;
  bool lost_ = false, ends_ = false;
  Moment leased_;                                // when the latest beat was sent that has been answered
  Moment next_beat_, asked_, until_, next_try_;  // of the approach: since when, until when, and the next one
  std::deque<std::pair<int, Moment>> sent_;      // beats without an answer
};

class Vigil {
 public:
  explicit Vigil(Pace pace) : pace_(pace) {}
  void heard(int child, Moment now) { heard_[child] = now; }
  void forget(int child) { heard_.erase(child); }
  bool watches(int child) const { return heard_.contains(child); }
  // Those that have become silent, which are forgotten.
  std::vector<int> pass(Moment now);

 private:
  Pace pace_;
  std::map<int, Moment> heard_;
  Moment latest_;
};

class Lineage {
 public:
  static constexpr int kMpirun = -1;
  explicit Lineage(Pace pace) : pace_(pace) {}

  void place(int node, int above);  // at the start
  // It asks for its place of that number. False: it may not have it.
  bool attach(int node, int epoch, int above);
  // The one above it says that its place of that number is empty. True: it has died by that.
  bool part(int node, int epoch, int above, bool left, Moment now);
  void bury(int node, Moment now);    // for whatever other reason
  std::vector<int> pass(Moment now);  // those that have died by now, since they have come to no new place
  bool lives(int node) const;
  int above(int node) const { return members_.at(node).above; }
  // Whom a letter passes on its way, and the node itself; empty: there is no way now.
  std::vector<int> way(int node) const;
  std::vector<int> with_those_below(int node) const;  // who live

 private:
  struct Member {
    int above = kMpirun, epoch = 0;
    bool dead = false, adrift = false;
    Moment adrift_since;
  };
  void set_adrift(Member& member, Moment now);

  Pace pace_;
  std::map<int, Member> members_;
  Moment latest_;
};

}  // namespace tutti::launcher
