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
// takes the nodes below it along, unless the job goes on without nodes that fail: then those come to another place in the
// tree, at one of the nodes above the lost one (lineage.hpp says how, and daemon_healing.cpp does it). One that cannot start a node says so, and the node's share is started from
// one step higher, at last from here: a node may know no way to others.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/daemons/bundle.hpp"
#include "launcher/daemons/correspondence.hpp"
#include "launcher/daemons/daemon_start.hpp"
#include "launcher/daemons/lineage.hpp"
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
// class has them, in four files: shells (daemon_shells.cpp), tree (daemon_tree.cpp), its healing (daemon_healing.cpp), and
// what is common to all.
class Daemons {
 public:
  struct Events {
    std::function<void()> all_ready;
    std::function<void(int node, LinkEnd how, const std::string& sentence)> lost;  // or never came
    std::function<Error(int node, Message, std::string_view)> message;
    // Whether what its ranks die of is of no interest any more; asked under srun alone.
    std::function<bool()> job_ends;
    // In a daemon, which tells the one above it; absent in the launcher.
    std::function<void(int node, const NodeShape& shape, int above)> joined;
    std::function<void(const std::vector<int>& nodes, const std::string& why)> not_started;
    // Where the job goes on. In the launcher: a node has failed, with the cause as a part of a sentence.
    std::function<void(int node, LinkEnd how, const std::string& why)> failed;
    // In a daemon: to hand on letters of nodes below, to write one, and whether this daemon may answer beats.
    std::function<void(const std::string& told)> pass_up;
    std::function<void(Message, const std::string& payload)> write;
    std::function<bool()> has_lease;
  };
  struct Options {
    std::string job_id, rsh;
    bool by_srun = false;  // not by rsh
    std::chrono::nanoseconds connect_timeout{0}, node_timeout{0};
    int fan_out = 1;
    std::chrono::nanoseconds heartbeat{0};              // DaemonStart::heartbeat
    Secret secret = Secret::random();                   // the job's
    int node = Lineage::kMpirun;                        // this one
    std::vector<DaemonStart::Ancestor> ancestors = {};  // of this one, where the job goes on
  };
  Daemons(Loop& loop, Reaper& reaper, Cleanup& cleanup, Options options, Events events);
  ~Daemons();

  Error start(const std::vector<Host>& hosts);                     // those that are not this machine
  Error start_below(const std::vector<DaemonStart::Node>& nodes);  // in a daemon
  void tell(int node, Message type, const Parcel& payload) {
    heals() ? write(node, type, payload.view()) : told_.put(node, type, payload);
  }
  void send_now() { told_.flush(); }  // what has been told, where the loop does not come to it
  bool knows(int node) const { return daemons_.contains(node); }
  const NodeShape& shape(int node) const { return daemons_.at(node)->shape; }
  void dismiss(int node);  // it is not needed (any more): it ends when its link does
  void give_up(int node);  // as lost, but its job knows
  // From now on the failure of a node is that node's alone; in the launcher: for all that are not dismissed.
  void heal();
  // In a daemon that has a place: a letter for one below, what one that attaches itself may have, and that what those below
  // have told may be lost.
  void carry(std::vector<int> way, const std::string& letter);
  void answer(int node, int epoch, bool adopted);
  void tell_again();
  // Over the links of this process to daemons, and over those below them as far as these have told.
  const Traffic& traffic() const { return traffic_; }
  // Dismisses all, and calls back when they are gone or time is up. `deserted`: they may look for another place.
  void dismiss_all(bool hasty, std::function<void()> gone, bool deserted = false);

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
    int epoch = 0;               // the number of its place here
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
  void send_down(const std::vector<int>& nodes, Message type, const Parcel& payload);
  Error hear(Daemon& child, Message type, std::string_view payload);
  Error hear_relayed(Daemon& child, std::string_view payload);
  Error hear_gathered(Daemon& child, std::string_view payload);
  Error hear_gathered_groups(Daemon& child, std::string_view payload);
  Error hear_joined(Daemon& child, std::string_view payload);
  Error hear_not_started(Daemon& child, std::string_view payload);
  Error said(int node, Message type, std::string_view payload, bool by_itself);
  bool are_behind(const Daemon& child, const std::vector<Span>& spans, std::vector<int>& nodes) const;
  bool are_behind(const Daemon& child, const std::vector<int>& nodes) const;
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
  bool is_awaited(int node, int epoch) const;
  void admit(int node, int epoch, std::unique_ptr<Link> link, const NodeShape& shape);
  void lose(Daemon& daemon, LinkEnd how, const std::string& sentence);
  void check_ready();
  void check_gone();

  bool heals() const { return options_.heartbeat.count() > 0; }
  bool is_launcher() const { return options_.node == Lineage::kMpirun; }
  void look_at_all();
  void readmit(Daemon& child, int epoch, std::unique_ptr<Link> link);
  bool hear_kept(Daemon& child, Message type, std::string_view payload, Error& wrong);
  Error read(std::string_view told);
  void write(int node, Message type, std::string_view payload);
  void post(int node, const std::string& letter);
  void say_above(Message type, const std::string& payload);
  Error hear_of_place(int from, Message type, std::string_view payload);
  void release(Daemon& child, bool left, LinkEnd how, const std::string& why);
  void bury(int node, LinkEnd how, const std::string& why);
  void cut_off(Daemon& daemon);

  Loop& loop_;
  Reaper& reaper_;
  Cleanup& cleanup_;
  Options options_;
  Events events_;
  Traffic traffic_;
  Reception reception_;
  Watch connect_timer_, gone_timer_;
  std::map<int, std::unique_ptr<Daemon>> daemons_;
  Bundle told_{loop_, [this](const std::vector<int>& nodes, Message type, const Parcel& payload) {
                 send_down(nodes, type, payload);
               }};
  std::vector<std::unique_ptr<Shell>> shells_;
  bool announced_ = false;
  std::function<void()> gone_;
  // Where the job goes on.
  bool healing_ = false;
  Vigil vigil_;
  Lineage lineage_;                        // the launcher's
  std::map<int, Correspondence> letters_;  // the launcher's, with each
  Watch look_;
};

}  // namespace tutti::launcher
