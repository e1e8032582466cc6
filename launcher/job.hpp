// SPDX-License-Identifier: BSD-3-Clause
// A running job as the launcher sees it: decides when it ends and with which exit code, brings the
// nodes' output to the terminal and the input to rank 0, and passes fences and modex data between
// nodes. How a node is reached is the Node's affair.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "launcher/ask/looks.hpp"
#include "launcher/daemons/roll_call.hpp"
#include "launcher/data/node_contract.hpp"
#include "launcher/job_states.hpp"
#include "launcher/output_files.hpp"
#include "launcher/terminal.hpp"

namespace tutti::launcher {

inline constexpr int kTimeoutExitCode = 124;

class Job final : public NodeEvents {
 public:
  struct Options {
    OutputShape output;
    std::chrono::nanoseconds timeout{0}, kill_grace{0};
    std::string timeout_by;                  // the option or variable that the user gave it by, and how
    std::function<void(int node)> given_up;  // nothing more is expected of it
    std::function<void()> send_now;          // what nodes have been told: this process stands still next
    std::string scheduler;                   // whose job this is, if signals of it mean something
  };
  Job(Loop& loop, Options options);
  ~Job() override;

  // The nodes of the map, in its order; then runs the loop until the job is over.
  void add_node(std::unique_ptr<Node> node) { nodes_.push_back({.node = std::move(node)}); }
  Node& node(int index) { return *nodes_[static_cast<size_t>(index)].node; }
  void launch(const NodeTask& task);  // the same for every node but for `node`
  // Also before launch(): the job ends with this exit code unless it was ending already.
  void fail(int exit_code, const std::string& sentence);
  // `silent`: it is not known to be without processes of the job.
  void lose_node(int node, const std::string& sentence, bool silent);
  int exit_code() const { return exit_code_; }
  bool is_ending() const { return failed_; }
  bool is_over() const { return state_ == JobState::over; }
  bool is_hasty() const { return hasty_; }  // whoever asked for its end has asked once more
  void signal_ranks(int signal) { forward(signal); }
  // At what the ranks of all nodes are doing, and at the collective calls of some.
  void look(const std::vector<int>& records_of, Looks::Then then) { looks_.look(records_of, std::move(then)); }

  void launched(int node) override;
  void launch_failed(int node, int exit_code, const std::string& sentence) override;
  void rank_ended(int node, const RankEnd& end) override;
  void rank_crashed(int node, int rank, const std::string& report) override;
  void rank_waits(int node, int rank) override;
  void rank_aborted(int node, int rank, int code, const std::string& text) override;
  void output(int node, int rank, Stream stream, std::string bytes) override;
  void note(int node, const std::string& line) override;
  void remark(int node, Level level, const std::string& line) override;
  void input_wanted(int node) override;
  void fence(int node, const std::string& key, const std::string& data, const Addresses& addresses) override;
  void modex_wanted(int node, uint64_t token, int rank) override;
  void modex_found(int node, uint64_t token, int status, const std::string& data) override;
  void addresses_wanted(int node, const std::string& key) override;
  void event(int node, const std::string& packed) override;
  void looked(int node, uint64_t number, std::vector<RankView> ranks) override;
  void answered(int node) override;
  void finished(int node) override;

 private:
  struct NodeState {
    std::unique_ptr<Node> node;
    bool launched = false, finished = false, lost = false;
  };
  struct Fence {
    std::set<int> missing;
    std::map<int, std::string> data;
    Addresses addresses;
  };
  struct Departed {
    int pid;
    bool connected;
    std::chrono::steady_clock::time_point when;
  };
  struct ModexQuestion {
    int node;
    uint64_t token;
  };

  // What the ranks of all nodes are doing, as far as these answer in time, goes to the terminal.
  void show(std::function<void()> then);
  std::set<int> nodes_to_ask() const;
  std::set<int> nodes_to_call() const;
  // As fail(), but a cause that is heard of a moment later is blamed instead.
  void suspect(int exit_code, const std::string& sentence);
  void blame_suspect();
  void happened(JobEvent event);
  void act(JobAction action);
  void interrupted(int signal);
  static bool seems_stuck(const JobView& view);
  void drop_output_soon();
  void hurry();
  void silent(int node, std::chrono::nanoseconds silence);
  bool only_silent_nodes_are_left() const;
  bool has_alive_ranks(int node) const;
  void give_up(int node, const std::string& why);
  void give_up_rest();
  void tell_unclean() const;
  void forward(int signal);
  void watch_signals();
  std::string lost_output(const char* stream, const std::string& why);  // what it has said
  void check_ranks();
  void check_finished();
  void rank_gone(int rank);
  void check_start(bool just_said);
  void blame_absent();
  std::string rank_label(int rank, int pid) const;
  std::string who_sent(int signal) const;
  std::set<int> nodes_of_fence(const std::string& key) const;

  Loop& loop_;
  Options options_;
  OutputFiles files_;
  std::set<int> passed_on_;        // signals
  int input_rank_ = 0;             // which reads standard input, if any does
  std::set<int> input_wanted_by_;  // nodes, where all ranks read it
  JobMap map_;
  std::vector<NodeState> nodes_;
  std::vector<Watch> signals_;
  Watch timeout_, grace_, bound_, patience_, suspicion_, absence_;
  Watch last_look_;  // at the ranks of a job that is interrupted
  Looks looks_;
  RollCall roll_call_;
  Addresses published_;                 // by the ranks of all nodes, for the latest fence with addresses ...
  std::string spread_;                  // ... and the key of those that every node has been told
  std::set<std::string> remarks_;       // that are told
  std::set<int> known_silent_;          // nodes of whose silence has been told
  std::map<int, std::string> unclean_;  // nodes where processes may be left, and why
  JobState state_ = JobState::starting;
  int exit_code_ = 0;
  bool failed_ = false, drop_output_ = false, hasty_ = false, crash_told_ = false;
  std::optional<std::pair<int, std::string>> suspect_;  // exit code, sentence
  // Ranks that have said that they wait in MPI_Init, and when they last did.
  std::map<int, std::chrono::steady_clock::time_point> waiting_;
  std::map<int, Departed> departed_;  // ranks that have ended well
  std::set<int> absent_;              // those of them that others wait for there
  std::vector<bool> alive_;           // by rank, from launch() on
  int alive_count_ = 0;
  std::unique_ptr<Writer> out_, err_;
  std::unique_ptr<Reader> in_;
  std::map<std::string, Fence> fences_;
  std::map<uint64_t, ModexQuestion> modexes_;
  uint64_t next_modex_ = 1;
};

}  // namespace tutti::launcher
