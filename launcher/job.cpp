// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/job.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/log.hpp"
#include "base/printable.hpp"
#include "launcher/ask/why_text.hpp"
#include "launcher/node/look.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

// How often the nodes are called while the job runs, and while it ends.
constexpr std::chrono::milliseconds kSeldom{2000}, kOften{200};
// In which the nodes may say what their ranks do, before a job that is interrupted is ended.
constexpr std::chrono::milliseconds kLastLook{300};
// The silence after which a node is no longer waited for: where somebody or something has asked for
// the end of the job, and where its other ranks have ended well.
constexpr std::chrono::milliseconds kSilence{800}, kLongSilence{10000};
// What it may take a node that answers to see the end of its killed processes. Large ones take
// long.
constexpr std::chrono::seconds kUnkillable{30};
// The same where the user has asked once more: all together it takes less than two seconds.
constexpr std::chrono::milliseconds kHastyKill{800}, kHastyFinish{300};

}  // namespace

Job::Job(Loop& loop, Options options)
    : loop_(loop),
      options_(options),
      files_(options.output),
      looks_(loop, {.nodes = [this] { return nodes_to_ask(); },
                    .ask = [this](int n, const Question& question) { node(n).look(question); },
                    .name = [this](int n) { return map_.nodes[static_cast<size_t>(n)]; }}),
      roll_call_(loop, {.nodes = [this] { return nodes_to_call(); },
                        .call = [this](int n) { node(n).call(); },
                        .silent = [this](int n, auto silence) { silent(n, silence); }}) {
  const auto written = [this](int node, size_t room) {
    if (room > 0) nodes_[static_cast<size_t>(node)].node->output_taken(room);
    check_finished();
  };
  out_ = std::make_unique<Writer>(
      loop, STDOUT_FILENO,
      Writer::Events{written,
                     [this] {
                       drop_output_ = true;  // such as '| head': the end of a pipe is no failure worth a sentence
                       fail(128 + SIGPIPE, "");
                     },
                     [this](const std::string& why) { lost_output("output", why); }});
  err_ = std::make_unique<Writer>(loop, STDERR_FILENO,
                                  Writer::Events{written, [] {},
                                                 [this](const std::string& why) {
                                                   // The one place where it can still be read.
                                                   out_->put(0, "tutti: error: " + lost_output("error", why) + "\n", 0);
                                                 }});
  in_ = std::make_unique<Reader>(
      loop, STDIN_FILENO,
      [this](std::string bytes) {
        for (NodeState& node : nodes_)
          if (input_rank_ == kEveryRank && !node.lost) node.node->give_input(bytes);
        if (input_rank_ == kEveryRank) return;
        const auto rank = static_cast<size_t>(input_rank_);
        const size_t node = rank < map_.ranks.size() ? static_cast<size_t>(map_.ranks[rank].node) : 0;
        if (!nodes_[node].lost) nodes_[node].node->give_input(std::move(bytes));
      },
      [this](const std::string& why) {
        fail(1, fmt::format("mpirun cannot read its standard input: {}; the job ends", why));
      });
  watch_signals();
  if (options_.timeout.count() > 0)
    timeout_ = loop_.after(options_.timeout, [this] {
      show([this] { fail(kTimeoutExitCode, fmt::format("the job ends: its time ({}) is over", options_.timeout_by)); });
    });
}

Job::~Job() = default;

std::string Job::lost_output(const char* stream, const std::string& why) {
  std::string sentence = fmt::format("mpirun cannot write its standard {}: {}; the job ends", stream, why);
  fail(1, sentence);
  return sentence;
}

// Mostly a job is interrupted because it does not end, and then who waits for whom is worth some lines.
bool Job::seems_stuck(const JobView& view) {
  constexpr int64_t kLongWait = 5000;  // milliseconds
  const auto waits = [](const RankView& rank) { return rank.inside && rank.milliseconds >= kLongWait; };
  return std::ranges::any_of(view.ranks, waits) ||
         (!view.ranks.empty() && std::ranges::all_of(view.ranks, &RankView::looks));
}

void Job::watch_signals() {
  ::signal(SIGPIPE, SIG_IGN);
  signals_.push_back(loop_.on_signal(SIGQUIT, [this] { show([] {}); }));
  struct sigaction hangup{};
  const bool survives = ::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler == SIG_IGN;  // nohup
  for (int s : {SIGINT, SIGTERM, SIGHUP})
    if (s != SIGHUP || !survives) signals_.push_back(loop_.on_signal(s, [this, s] { interrupted(s); }));
  for (int s : {SIGUSR1, SIGUSR2, SIGCONT}) signals_.push_back(loop_.on_signal(s, [this, s] { forward(s); }));
  signals_.push_back(loop_.on_signal(SIGTSTP, [this] {
    forward(SIGSTOP);  // their groups are not the terminal's: SIGTSTP would be ignored there
    if (options_.send_now) options_.send_now();
    ::raise(SIGSTOP);
    forward(SIGCONT);  // here again: this process was told to continue
  }));
}

void Job::interrupted(int signal) {
  drop_output_ = true;
  if (state_ == JobState::finishing) drop_output_soon();
  if (failed_) return hurry();
  const auto end = [this, signal] {
    if (failed_) return;
    fail(128 + signal, fmt::format("the job ends: {}", ::strsignal(signal)));
  };
  if (last_look_) {  // asked twice
    end();
    return hurry();
  }
  last_look_ = loop_.after(kLastLook, end);
  look({}, [this, end](const JobView& view) {
    if (!failed_ && seems_stuck(view)) err_->put(0, why_text(view.ranks), 0);
    end();
  });
}

// A reader that has stopped reading must not hold up an end that the user asked for.
void Job::drop_output_soon() {
  patience_ = loop_.after(std::chrono::milliseconds(200), [this] {
    out_->drop_all();
    err_->drop_all();
    check_finished();
  });
}

void Job::hurry() {
  hasty_ = true;
  happened(JobEvent::impatient);
  if (state_ == JobState::killing || state_ == JobState::finishing)
    bound_ =
        loop_.after(state_ == JobState::killing ? kHastyKill : kHastyFinish, [this] { happened(JobEvent::overdue); });
}

std::set<int> Job::nodes_to_ask() const {
  std::set<int> out;
  for (size_t n = 0; n < nodes_.size(); ++n)
    if (nodes_[n].launched && !nodes_[n].lost && !nodes_[n].finished) out.insert(static_cast<int>(n));
  return out;
}

std::set<int> Job::nodes_to_call() const {
  std::set<int> out;
  for (size_t n = 0; n < nodes_.size(); ++n)
    if (!nodes_[n].lost && !nodes_[n].finished) out.insert(static_cast<int>(n));
  return out;
}

void Job::show(std::function<void()> then) {
  look({}, [this, then = std::move(then)](const JobView& view) {
    for (const std::string& note : view.notes) say(Level::warning, "{}", note);
    err_->put(0, view.ranks.empty() ? "no rank has a record to be asked (or --check=off)\n" : why_text(view.ranks), 0);
    then();
  });
}

void Job::looked(int node, uint64_t number, std::vector<RankView> ranks) {
  for (RankView& rank : ranks) make_printable(rank);
  looks_.looked(node, number, std::move(ranks));
}

void Job::forward(int signal) {
  passed_on_.insert(signal);
  for (NodeState& node : nodes_)
    if (!node.lost) node.node->signal_ranks(signal);
}

void Job::launch(const NodeTask& task) {
  map_ = task.map;
  input_rank_ = task.input_rank == kEveryRank ? kEveryRank : std::max(0, task.input_rank);
  alive_.assign(map_.ranks.size(), true);
  alive_count_ = static_cast<int>(alive_.size());
  for (size_t n = 0; n < nodes_.size() && !failed_; ++n) {
    NodeTask mine = task;
    mine.node = static_cast<int>(n);
    nodes_[n].node->launch(std::move(mine));
    if (!failed_) continue;
    // The nodes that were not asked to start anything have nothing to end.
    for (size_t other = n + 1; other < nodes_.size(); ++other)
      for (const int rank : map_.ranks_on(static_cast<int>(other))) rank_gone(rank);
  }
  roll_call_.every(failed_ ? kOften : kSeldom);
  check_ranks();
}

void Job::fail(int exit_code, const std::string& sentence) {
  if (std::exchange(failed_, true)) return;
  exit_code_ = exit_code;
  if (!sentence.empty()) say(Level::error, "{}", sentence);
  // A report of several lines is not lost, whatever it came from, unless it only says that
  // somebody whose end has just been told could not be reached.
  if (suspect_ && suspect_->first != MPI_ERR_PROC_ABORTED && suspect_->second.find('\n') != std::string::npos)
    say(Level::error, "{}", suspect_->second);
  if (!nodes_.empty()) roll_call_.every(kOften);
  happened(JobEvent::failed);
  check_ranks();
}

void Job::lose_node(int node, const std::string& sentence, bool silent) {
  NodeState& lost = nodes_[static_cast<size_t>(node)];
  if (lost.finished || std::exchange(lost.lost, true)) return;
  lost.finished = true;
  for (const int rank : map_.ranks_on(node)) rank_gone(rank);
  if (silent && failed_) unclean_[node] = "nothing comes from there";
  fail(1, sentence);
  happened(JobEvent::node_lost);
  check_ranks();
  check_finished();
}

bool Job::has_alive_ranks(int node) const {
  return std::ranges::any_of(map_.ranks_on(node), [this](int rank) { return alive_[static_cast<size_t>(rank)]; });
}

// While the job runs a node may be as busy as it likes; but where it alone is waited for, and what
// the others did is over, nobody can tell whether it will ever come back.
bool Job::only_silent_nodes_are_left() const {
  if (alive_count_ == static_cast<int>(alive_.size())) return false;
  for (size_t n = 0; n < nodes_.size(); ++n)
    if (has_alive_ranks(static_cast<int>(n)) && roll_call_.silence_of(static_cast<int>(n)) < kLongSilence) return false;
  return true;
}

void Job::silent(int node, std::chrono::nanoseconds silence) {
  const std::string why = "its daemon does not answer";
  const auto limit = failed_ ? kSilence : kLongSilence;
  if (silence < limit) return;
  switch (state_) {
    case JobState::starting:
    case JobState::running:
      if (only_silent_nodes_are_left()) return give_up(node, why);
      if (known_silent_.insert(node).second)
        say(Level::warning,
            "the daemon on {} has not answered for {} s: it is stopped, or waits for a file "
            "system, or its machine is overloaded",
            map_.nodes[static_cast<size_t>(node)], std::chrono::duration_cast<std::chrono::seconds>(silence).count());
      return;
    case JobState::killing:
    case JobState::finishing:
      return give_up(node, why);
    case JobState::ending:  // the grace of the ranks is as long
    case JobState::over:
      return;
  }
}

void Job::give_up(int node, const std::string& why) {
  NodeState& lost = nodes_[static_cast<size_t>(node)];
  if (lost.finished || std::exchange(lost.lost, true)) return;
  lost.finished = true;
  unclean_[node] = why;
  if (options_.given_up) options_.given_up(node);
  for (const int rank : map_.ranks_on(node)) rank_gone(rank);
  fail(1, fmt::format("{} is waited for in vain: {}; the job ends", map_.nodes[static_cast<size_t>(node)], why));
  check_ranks();
  check_finished();
}

void Job::give_up_rest() {
  const bool by_ranks = state_ == JobState::killing;
  for (size_t n = 0; n < nodes_.size(); ++n) {
    const int node = static_cast<int>(n);
    if (nodes_[n].finished || (by_ranks && !has_alive_ranks(node))) continue;
    give_up(node, roll_call_.silence_of(node) > kOften ? "its daemon does not answer" : "its processes do not end");
  }
}

void Job::tell_unclean() const {
  if (unclean_.empty()) return;
  std::string list;
  for (const auto& [node, why] : unclean_)
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", map_.nodes[static_cast<size_t>(node)], why);
  say(Level::error, "processes of the job may still run on {}", list);
}

void Job::happened(JobEvent event) {
  const JobStep step = job_step(state_, event);
  state_ = step.next;
  act(step.action);
}

void Job::act(JobAction action) {
  switch (action) {
    case JobAction::none:
      return;
    case JobAction::ask_to_end:
      forward(SIGTERM);
      forward(SIGCONT);  // a stopped one cannot hear it
      grace_ = loop_.after(options_.kill_grace, [this] { happened(JobEvent::grace_over); });
      return;
    case JobAction::kill:
      bound_ = loop_.after(kUnkillable, [this] { happened(JobEvent::overdue); });
      forward(SIGKILL);
      return roll_call_.round();
    case JobAction::finish:
      bound_ = hasty_    ? loop_.after(kHastyFinish, [this] { happened(JobEvent::overdue); })
               : failed_ ? loop_.after(kUnkillable, [this] { happened(JobEvent::overdue); })
                         : Watch();
      if (!nodes_.empty()) roll_call_.every(kOften);
      for (NodeState& node : nodes_)
        if (!node.finished) node.node->finish(failed_);
      if (drop_output_) drop_output_soon();
      return check_finished();
    case JobAction::give_up:
      return give_up_rest();
    case JobAction::leave:
      tell_unclean();
      return loop_.stop();
  }
}

void Job::rank_gone(int rank) {
  if (!alive_[static_cast<size_t>(rank)]) return;
  alive_[static_cast<size_t>(rank)] = false;
  --alive_count_;
}

void Job::check_ranks() {
  if (alive_count_ > 0) return;
  blame_suspect();
  happened(JobEvent::ranks_gone);
}

void Job::check_finished() {
  if (state_ != JobState::finishing) return;
  const bool clean = std::ranges::all_of(nodes_, [](const NodeState& n) { return n.finished; });
  if (clean && out_->idle() && err_->idle()) happened(JobEvent::finished);
}

void Job::launched(int node) {
  nodes_[static_cast<size_t>(node)].launched = true;
  if (std::ranges::all_of(nodes_, [](const NodeState& n) { return n.launched; })) happened(JobEvent::launched);
}

void Job::launch_failed(int, int exit_code, const std::string& sentence) {
  fail(exit_code, sentence);
}

void Job::output(int node, int rank, Stream stream, std::string bytes) {
  const size_t room = bytes.size();
  if (files_.any()) {
    const std::string& name = map_.nodes[static_cast<size_t>(node)];
    if (Error e = files_.write(rank, stream, name, map_.id, bytes)) fail(1, e.message());
    if (!files_.shape().copy) bytes.clear();
  }
  const bool to_out = stream == Stream::out || files_.shape().merge;
  (to_out ? out_ : err_)->put(node, files_.with_tags(rank, std::move(bytes)), room);
}

void Job::note(int node, const std::string& line) {
  err_->put(node, "tutti: " + printable(line) + "\n", 0);
}

void Job::remark(int, Level level, const std::string& line) {
  constexpr size_t most = 10;  // of a node that cannot stop
  if (remarks_.size() < most && remarks_.insert(line).second) say(level, "{}", printable(line));
}

// Where all ranks read the same, the slowest node says when there is more.
void Job::input_wanted(int node) {
  if (input_rank_ == kEveryRank) {
    input_wanted_by_.insert(node);
    for (size_t n = 0; n < nodes_.size(); ++n)
      if (!nodes_[n].lost && !input_wanted_by_.contains(static_cast<int>(n))) return;
    input_wanted_by_.clear();
  }
  in_->want();
}

void Job::answered(int node) {
  roll_call_.answered(node);
}

void Job::finished(int node) {
  nodes_[static_cast<size_t>(node)].finished = true;
  check_finished();
}

}  // namespace tutti::launcher
