// SPDX-License-Identifier: BSD-3-Clause
// A running job as the launcher sees it: decides when it ends and with which exit code. What its nodes say of streams
// and of messages between them goes on to JobStreams and Exchange. How a node is reached is the Node's affair.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/absent_ranks.hpp"
#include "launcher/ask/looks.hpp"
#include "launcher/daemons/roll_call.hpp"
#include "launcher/data/kin.hpp"
#include "launcher/data/node_contract.hpp"
#include "launcher/exchange.hpp"
#include "launcher/job_nodes.hpp"
#include "launcher/job_states.hpp"
#include "launcher/job_streams.hpp"
#include "launcher/suspicion.hpp"

namespace tutti::launcher {

inline constexpr int kTimeoutExitCode = 124;

// What the failure of a rank or a node does, by the setting failure.action: it ends the job; or the others go on, and then
// the exit code is theirs, or that of the first failure.
enum class OnFailure { end, go_on, go_on_and_tell };

// Large: it has one field for each thing that is asked when it is decided whether the job ends.
class Job final : public NodeEvents {
 public:
  struct Options {
    OutputShape output;
    std::chrono::nanoseconds timeout{0}, kill_grace{0};
    std::string timeout_by;                  // the option or variable that the user gave it by, and how
    std::function<void(int node)> given_up;  // nothing more is expected of it
    std::function<void()> send_now;          // what nodes have been told: this process stands still next
    std::string scheduler;                   // whose job this is, if signals of it mean something
    Beyond* beyond = nullptr;                // outlives the job
    OnFailure on_failure = OnFailure::end;
  };
  Job(Loop& loop, Options options);
  ~Job() override;

  // The nodes of the map, in its order; then runs the loop until the job is over.
  void add_node(std::unique_ptr<Node> node) { nodes_.add(std::move(node)); }
  Node& node(int index) { return nodes_.node(index); }
  void launch(const NodeTask& task);  // the same for every node but for `node`
  // Also before launch(): the job ends with this exit code unless it was ending already.
  void fail(int exit_code, const std::string& sentence);
  // `silent`: it is not known to be without processes of the job.
  void lose_node(int node, const std::string& sentence, bool silent);
  // One of a job that may go on without it, for a reason that is a part of a sentence.
  void node_failed(int node, const std::string& why, bool silent);
  int exit_code() const;
  bool is_ending() const { return failure_.has_value(); }
  bool is_over() const { return state_ == JobState::over; }
  bool is_hasty() const { return hasty_; }  // whoever asked for its end has asked once more
  void signal_ranks(int signal) { nodes_.signal_ranks(signal); }
  // At what the ranks of all nodes are doing, and at the collective calls of some.
  void look(const std::vector<int>& records_of, Looks::Then then) { looks_.look(records_of, std::move(then)); }
  void look_together(Looks::Then then) { looks_.look_together(std::move(then)); }  // at groups of ranks
  // From beyond: what the job has asked, met and is wanted for there, and another job that ranks may come to talk to.
  void replied(uint64_t number, const Reply& reply) { exchange_.replied(number, reply); }
  void met(const std::string& key, int status, const std::string& data) { exchange_.met(key, status, data); }
  void wanted(uint64_t number, int rank) { exchange_.wanted(number, rank); }
  void learn(const NodeTask& kin) { exchange_.learn(kin); }

  void launched(int node) override;
  void launch_failed(int node, int exit_code, const std::string& sentence) override;
  void rank_ended(int node, const RankEnd& end) override;
  void rank_crashed(int node, int rank, const std::string& report) override;
  void rank_waits(int, int rank) override { absent_.waits(rank); }
  void rank_aborted(int node, int rank, int code, const std::string& text) override;
  void output(int node, int rank, OutputStream stream, std::string bytes) override {
    streams_.output(node, rank, stream, std::move(bytes));
  }
  void note(int node, const std::string& line) override { streams_.note(node, line); }
  void remark(int, Level level, const std::string& line) override { streams_.remark(level, line); }
  void input_wanted(int node) override { streams_.input_wanted(node); }
  void fence(int node, const std::string& key, const std::string& data, const Addresses& addresses) override {
    exchange_.fence(node, key, data, addresses);
  }
  void modex_wanted(int node, uint64_t token, int rank) override { exchange_.modex_wanted(node, token, rank); }
  void modex_found(int, uint64_t token, int status, const std::string& data) override {
    exchange_.modex_found(token, status, data);
  }
  void addresses_wanted(int node, const std::string& key) override { exchange_.addresses_wanted(node, key); }
  void event(int node, const std::string& packed) override { exchange_.event(node, packed); }
  void asked(int node, uint64_t number, const Ask& ask) override { exchange_.asked(node, number, ask); }
  void looked(int node, uint64_t number, std::vector<RankView> ranks) override;
  void grouped(int node, uint64_t number, std::vector<RankGroup> groups) override;
  void answered(int node) override { roll_call_.answered(node); }
  void profiled(int node, std::vector<RankProfile> ranks) override;
  // What all ranks have left of their profiles, once the job is over.
  std::vector<RankProfile> take_profiles() { return std::move(profiles_); }
  void finished(int node) override;

 private:
  // What the ranks of all nodes are doing, as far as these answer in time, goes to the terminal.
  void show(std::function<void()> then);
  void watch_outside();
  void interrupted(int signal);
  void hurry();
  // As fail(), but a cause that is heard of a moment later is blamed instead.
  void suspect(int exit_code, const std::string& sentence);
  std::string sentence_on(const RankEnd& end) const;
  bool may_go_on() const;
  bool goes_on_without(const RankEnd& end);
  void goes_on_without(const std::vector<int>& ranks, const std::string& why, int code);
  std::vector<FailedView> failed() const;
  void happened(JobEvent event);
  void act(JobAction action);
  void limit(std::chrono::nanoseconds time, JobEvent event);
  void silent(int node, std::chrono::nanoseconds silence);
  bool only_silent_nodes_are_left() const;
  void give_up(int node, const std::string& why);
  void give_up_rest();
  void check_ranks();
  void check_finished();

  Loop& loop_;
  Options options_;
  JobNodes nodes_;
  Exchange exchange_;
  JobStreams streams_;
  AbsentRanks absent_;
  Suspicion suspicion_;
  Looks looks_;
  RollCall roll_call_;
  std::vector<Watch> outside_;  // signals, and the time that the job has
  Watch limit_;                 // of the state
  Watch last_look_;             // at the ranks of a job that is interrupted
  JobState state_ = JobState::starting;
  std::optional<int> failure_;  // the exit code
  // Where the job goes on without ranks that fail: those that have, and the exit codes of the first of these and of the
  // first other one that ended otherwise than well.
  struct LostRank {
    int rank = -1;
    std::string why;
    std::chrono::steady_clock::time_point when;
  };
  std::vector<LostRank> lost_ranks_;
  int code_of_lost_ = 0, code_of_others_ = 0;
  std::vector<RankProfile> profiles_;
  bool hasty_ = false, crash_told_ = false;
};

}  // namespace tutti::launcher
