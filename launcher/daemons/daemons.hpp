// SPDX-License-Identifier: BSD-3-Clause
// The daemons of a job's other nodes, seen from the launcher: starts each by the remote shell, or
// all at once by Slurm's srun, lets them report and prove that they belong to the job, and sees all
// of them gone at the end. Not what they do for the job: that is RemoteNode's.
//
// By the remote shell they are a tree: at most `fan_out` are started from here, the children, each of which is
// given a share of the others to start, and has an object of this class for them. With a fan-out of 2, eight
// nodes 0 to 7 (0 is here) are
//
//              0
//          1       5          1 starts 2 to 4, and 5 starts 6 and 7
//        2   4   6   7
//        3
//
// What is said to a node below a child goes through that child, and so does what it says. A child that is lost
// takes the nodes below it along. One that cannot start a node says so, and the node's share is started from
// one step higher, at last from here: a node may know no way to others.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/daemons/bundle.hpp"
#include "launcher/daemons/daemon_start.hpp"
#include "launcher/daemons/link.hpp"
#include "launcher/daemons/reception.hpp"
#include "launcher/daemons/traffic.hpp"
#include "launcher/loop/lines.hpp"
#include "launcher/loop/reaper.hpp"
#include "launcher/node/cleanup.hpp"
#include "launcher/node/spawn.hpp"
#include "launcher/place/hosts.hpp"
#include "launcher/place/placement.hpp"

namespace tutti::launcher {

// Large: a daemon's shell, its link and its place in the tree end together and explain each other's end, so that one
// class has them, in three files: shells (daemon_shells.cpp), tree (daemon_tree.cpp), and what is common to both.
class Daemons {
 public:
  struct Events {
    std::function<void()> all_ready;
    std::function<void(int node, LinkEnd how, const std::string& sentence)> lost;  // or never came
    std::function<Error(int node, Message, std::string_view)> message;
    // Whether what its ranks die of is of no interest any more; asked under srun alone.
    std::function<bool()> job_ends;
    // In a daemon, which tells the one above it; absent in the launcher.
    std::function<void(int node, const NodeShape& shape)> joined;
    std::function<void(const std::vector<int>& nodes, const std::string& why)> not_started;
  };
  struct Options {
    std::string job_id, rsh;
    bool by_srun = false;  // not by rsh
    std::chrono::nanoseconds connect_timeout{0}, node_timeout{0};
    int fan_out = 1;
    bool survives = false;             // DaemonStart::survives
    Secret secret = Secret::random();  // the job's
  };
  Daemons(Loop& loop, Reaper& reaper, Cleanup& cleanup, Options options, Events events);
  ~Daemons();

  Error start(const std::vector<Host>& hosts);                     // those that are not this machine
  Error start_below(const std::vector<DaemonStart::Node>& nodes);  // in a daemon
  void tell(int node, Message type, std::string_view payload) { told_.put(node, type, payload); }
  void send_now() { told_.flush(); }  // what has been told, where the loop does not come to it
  bool knows(int node) const { return daemons_.contains(node); }
  const NodeShape& shape(int node) const { return daemons_.at(node)->shape; }
  void dismiss(int node);  // it is not needed (any more): it ends when its link does
  void give_up(int node);  // as lost, but its job knows
  // Over the links of this process to daemons, and over those below them as far as these have told.
  const Traffic& traffic() const { return traffic_; }
  // Dismisses all, and calls back when they are gone or time is up.
  void dismiss_all(bool hasty, std::function<void()> gone);

 private:
  // A process that brings daemons to their nodes, and stays as long as they do: ssh one, srun all.
  struct Shell {
    std::string name;  // of the node, or of srun
    std::vector<int> nodes;
    int pid = -1;  // -1: gone
    int input = -1, output[2] = {-1, -1};
    Watch input_watch, output_watch[2];
    std::string start_text;
    LineKeeper lines[2];
    bool given_up = false, is_cut = false;  // srun ends the step; it cannot reach a node
  };
  struct Daemon {
    int node = 0;
    std::string name;
    Shell* shell = nullptr;
    int via = 0;                 // the child that it is behind; itself: it is one
    int users = 0;               // of a child: it and those behind it, unless dismissed
    std::unique_ptr<Link> link;  // of a child
    NodeShape shape;
    bool ready = false, dismissed = false, lost = false;
    std::string reason;         // why it does not start, in its own words
    Watch farewell;             // until Slurm has said why it is gone
    std::vector<Watch> deaths;  // of ranks, until Slurm could have said so
  };
  Error start_shell(const std::string& name, std::vector<std::string> command,
                    const std::vector<DaemonStart::Node>& nodes, bool each_reports);
  Error start_share(const std::vector<DaemonStart::Node>& nodes);
  void watch_time();
  void enter(const DaemonStart::Node& node, int via, Shell& shell);
  void send_down(const std::vector<int>& nodes, Message type, const std::string& payload);
  Error hear(Daemon& child, Message type, std::string_view payload);
  Error hear_relayed(Daemon& child, std::string_view payload);
  Error hear_gathered(Daemon& child, std::string_view payload);
  Error hear_joined(Daemon& child, std::string_view payload);
  Error hear_not_started(Daemon& child, std::string_view payload);
  Error said(int node, Message type, std::string_view payload, bool by_itself);
  bool are_behind(const Daemon& child, const std::vector<Span>& spans, std::vector<int>& nodes) const;
  void hand_up(const std::vector<int>& nodes, const std::string& why);
  void lose_with_those_behind(Daemon& child, LinkEnd how, const std::string& reason);
  void feed(Shell& shell);
  void read_words(Shell& shell, int index);
  bool hears_of_end(Shell& shell, const std::string& line);
  bool is_reason(Shell& shell, const std::string& line);  // true: not to be printed as well
  Error heard(Daemon& daemon, Message type, std::string_view payload);
  void link_closed(Daemon& daemon, LinkEnd how, const std::string& reason);
  void shell_ended(Shell& shell, int wait_status);
  std::string why_not_started(const Daemon& daemon, int code) const;
  bool is_of_use(const Shell& shell) const;  // a daemon behind it is neither dismissed nor lost
  void kill_shells();
  bool is_awaited(int node) const;
  void admit(int node, std::unique_ptr<Link> link, const NodeShape& shape);
  void lose(Daemon& daemon, LinkEnd how, const std::string& sentence);
  void check_ready();
  void check_gone();

  Loop& loop_;
  Reaper& reaper_;
  Cleanup& cleanup_;
  Options options_;
  Events events_;
  Traffic traffic_;
  Reception reception_;
  Watch connect_timer_, gone_timer_;
  std::map<int, std::unique_ptr<Daemon>> daemons_;
  Bundle told_{loop_, [this](const std::vector<int>& nodes, Message type, const std::string& payload) {
                 send_down(nodes, type, payload);
               }};
  std::vector<std::unique_ptr<Shell>> shells_;
  bool announced_ = false;
  std::function<void()> gone_;
};

}  // namespace tutti::launcher
