// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/job.hpp"

#include <signal.h>

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

// Mostly a job is interrupted because it does not end, and then who waits for whom is worth some lines.
bool seems_stuck(const JobView& view) {
  constexpr int64_t kLongWait = 5000;  // milliseconds
  const auto waits = [](const RankGroup& group) { return group.first.inside && group.most >= kLongWait; };
  return std::ranges::any_of(view.groups, waits) ||
         (!view.groups.empty() && std::ranges::all_of(view.groups, [](const RankGroup& g) { return g.first.looks; }));
}

}  // namespace

Job::Job(Loop& loop, Options options)
    : loop_(loop),
      options_(options),
      exchange_(nodes_, options_.beyond),
      streams_(loop, nodes_, options.output,
               {.written = [this] { check_finished(); },
                .cannot_go_on = [this](int exit_code, const std::string& sentence) { fail(exit_code, sentence); }}),
      absent_(loop, nodes_, [this](const std::string& sentence) { fail(1, sentence); }),
      suspicion_(loop, [this](int exit_code, const std::string& sentence) { fail(exit_code, sentence); }),
      looks_(loop, {.nodes = [this] { return nodes_.to_ask(); },
                    .ask = [this](int n, const Question& question) { node(n).look(question); },
                    .name = [this](int n) { return nodes_.name(n); },
                    .failed = [this] { return failed(); }}),
      roll_call_(loop, {.nodes = [this] { return nodes_.to_call(); },
                        .call = [this](int n) { node(n).call(); },
                        .silent = [this](int n, auto silence) { silent(n, silence); }}) {
  watch_outside();
}

Job::~Job() = default;

void Job::watch_outside() {
  ::signal(SIGPIPE, SIG_IGN);
  outside_.push_back(loop_.on_signal(SIGQUIT, [this] { show([] {}); }));
  struct sigaction hangup{};
  const bool survives = ::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler == SIG_IGN;  // nohup
  for (int s : {SIGINT, SIGTERM, SIGHUP})
    if (s != SIGHUP || !survives) outside_.push_back(loop_.on_signal(s, [this, s] { interrupted(s); }));
  for (int s : {SIGUSR1, SIGUSR2, SIGCONT})
    outside_.push_back(loop_.on_signal(s, [this, s] { nodes_.signal_ranks(s); }));
  outside_.push_back(loop_.on_signal(SIGTSTP, [this] {
    nodes_.signal_ranks(SIGSTOP);  // their groups are not the terminal's: SIGTSTP would be ignored there
    if (options_.send_now) options_.send_now();
    ::raise(SIGSTOP);
    nodes_.signal_ranks(SIGCONT);  // here again: this process was told to continue
  }));
  if (options_.timeout.count() > 0)
    outside_.push_back(loop_.after(options_.timeout, [this] {
      show([this] { fail(kTimeoutExitCode, fmt::format("the job ends: its time ({}) is over", options_.timeout_by)); });
    }));
}

void Job::interrupted(int signal) {
  streams_.set_unwanted();
  if (state_ == JobState::finishing) streams_.drop_if_unwanted();
  if (is_ending()) return hurry();
  const auto end = [this, signal] {
    if (!is_ending()) fail(128 + signal, fmt::format("the job ends: {}", ::strsignal(signal)));
  };
  if (last_look_) {  // asked twice
    end();
    return hurry();
  }
  last_look_ = loop_.after(kLastLook, end);
  look_together([this, end](const JobView& view) {
    if (!is_ending() && seems_stuck(view)) streams_.show(why_text(view));
    end();
  });
}

void Job::hurry() {
  hasty_ = true;
  happened(JobEvent::impatient);
  if (state_ == JobState::killing) limit(kHastyKill, JobEvent::overdue);
  if (state_ == JobState::finishing) limit(kHastyFinish, JobEvent::overdue);
}

void Job::show(std::function<void()> then) {
  look_together([this, then = std::move(then)](const JobView& view) {
    for (const std::string& note : view.notes) say(Level::warning, "{}", note);
    streams_.show(view.groups.empty() ? "no rank has a record to be asked (or --check=off)\n" : why_text(view));
    then();
  });
}

void Job::looked(int node, uint64_t number, std::vector<RankView> ranks) {
  for (RankView& rank : ranks) make_printable(rank);
  looks_.looked(node, number, std::move(ranks));
}

void Job::grouped(int node, uint64_t number, std::vector<RankGroup> groups) {
  for (RankGroup& group : groups) make_printable(group);
  looks_.grouped(node, number, std::move(groups));
}

void Job::launch(const NodeTask& task) {
  nodes_.take_map(task.map);
  exchange_.begin(task);
  streams_.give_input_to(task.input_rank == kEveryRank ? kEveryRank : std::max(0, task.input_rank));
  const Common<NodeTask> common(task);
  for (int n = 0; n < nodes_.count() && !is_ending(); ++n) {
    node(n).launch(common, n, nodes_.ranks_on(n));
    if (!is_ending()) continue;
    // The nodes that were not asked to start anything have nothing to end.
    for (int other = n + 1; other < nodes_.count(); ++other) nodes_.ranks_gone(other);
  }
  roll_call_.every(is_ending() ? kOften : kSeldom);
  check_ranks();
}

void Job::fail(int exit_code, const std::string& sentence) {
  if (is_ending()) return;
  failure_ = exit_code;
  if (options_.beyond) options_.beyond->failed(exit_code);
  if (!sentence.empty()) say(Level::error, "{}", sentence);
  if (const std::string report = suspicion_.report(); !report.empty()) say(Level::error, "{}", report);
  if (nodes_.count() > 0) roll_call_.every(kOften);
  happened(JobEvent::failed);
  check_ranks();
}

void Job::lose_node(int node, const std::string& sentence, bool silent) {
  if (!nodes_.lose(node)) return;
  if (silent && is_ending()) nodes_[node].unclean = "nothing comes from there";
  fail(1, sentence);
  happened(JobEvent::node_lost);
  check_ranks();
  check_finished();
}

// While the job runs a node may be as busy as it likes; but where it alone is waited for, and what
// the others did is over, nobody can tell whether it will ever come back.
bool Job::only_silent_nodes_are_left() const {
  if (nodes_.has_all_ranks()) return false;
  for (int n = 0; n < nodes_.count(); ++n)
    if (nodes_.has_ranks(n) && roll_call_.silence_of(n) < kLongSilence) return false;
  return true;
}

void Job::silent(int node, std::chrono::nanoseconds silence) {
  const std::string why = "its daemon does not answer";
  if (silence < (is_ending() ? kSilence : kLongSilence)) return;
  switch (state_) {
    case JobState::starting:
    case JobState::running:
      if (only_silent_nodes_are_left()) return give_up(node, why);
      if (!std::exchange(nodes_[node].silence_told, true))
        say(Level::warning,
            "the daemon on {} has not answered for {} s: it is stopped, or waits for a file "
            "system, or its machine is overloaded",
            nodes_.name(node), std::chrono::duration_cast<std::chrono::seconds>(silence).count());
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
  if (!nodes_.lose(node)) return;
  nodes_[node].unclean = why;
  if (options_.given_up) options_.given_up(node);
  fail(1, fmt::format("{} is waited for in vain: {}; the job ends", nodes_.name(node), why));
  check_ranks();
  check_finished();
}

void Job::give_up_rest() {
  const bool by_ranks = state_ == JobState::killing;
  for (int n = 0; n < nodes_.count(); ++n) {
    if (nodes_[n].finished || (by_ranks && !nodes_.has_ranks(n))) continue;
    give_up(n, roll_call_.silence_of(n) > kOften ? "its daemon does not answer" : "its processes do not end");
  }
}

void Job::happened(JobEvent event) {
  const JobStep step = job_step(state_, event);
  state_ = step.next;
  act(step.action);
}

void Job::limit(std::chrono::nanoseconds time, JobEvent event) {
  limit_ = loop_.after(time, [this, event] { happened(event); });
}

void Job::act(JobAction action) {
  switch (action) {
    case JobAction::none:
      return;
    case JobAction::ask_to_end:
      nodes_.signal_ranks(SIGTERM);
      nodes_.signal_ranks(SIGCONT);  // a stopped one cannot hear it
      return limit(options_.kill_grace, JobEvent::grace_over);
    case JobAction::kill:
      limit(kUnkillable, JobEvent::overdue);
      nodes_.signal_ranks(SIGKILL);
      return roll_call_.round();
    case JobAction::finish:
      limit_.reset();
      if (is_ending()) limit(hasty_ ? kHastyFinish : kUnkillable, JobEvent::overdue);
      if (nodes_.count() > 0) roll_call_.every(kOften);
      for (JobNodes::State& each : nodes_.all())
        if (!each.finished) each.node->finish(is_ending());
      streams_.drop_if_unwanted();
      return check_finished();
    case JobAction::give_up:
      return give_up_rest();
    case JobAction::leave:
      if (const std::string unclean = nodes_.unclean(); !unclean.empty())
        say(Level::error, "processes of the job may still run on {}", unclean);
      return loop_.stop();
  }
}

void Job::check_ranks() {
  if (nodes_.has_ranks()) return;
  suspicion_.blame_now();
  happened(JobEvent::ranks_gone);
}

void Job::check_finished() {
  if (state_ == JobState::finishing && nodes_.are_finished() && streams_.are_idle()) happened(JobEvent::finished);
}

void Job::launched(int node) {
  nodes_[node].launched = true;
  if (!nodes_.are_launched()) return;
  happened(JobEvent::launched);
  if (options_.beyond && state_ == JobState::running) options_.beyond->launched();
}

void Job::launch_failed(int, int exit_code, const std::string& sentence) {
  fail(exit_code, sentence);
}

void Job::profiled(int node, std::vector<RankProfile> ranks) {
  for (RankProfile& rank : ranks) {
    rank.node = node;
    rank.program = printable(rank.program);
    for (ProfileSite& site : rank.sites)
      for (std::string* text : {&site.function, &site.region, &site.module}) *text = printable(*text);
    profiles_.push_back(std::move(rank));
  }
}

void Job::finished(int node) {
  nodes_[node].finished = true;
  check_finished();
}

}  // namespace tutti::launcher
