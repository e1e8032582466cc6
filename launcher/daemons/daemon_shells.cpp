// SPDX-License-Identifier: BSD-3-Clause
// How daemons come to their nodes: the processes of the remote shell or of srun that bring them, what they are given on
// their standard input, and what is made of the words and the end of each; under Slurm also whether it was Slurm that
// has ended them.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sstream>

#include "base/config.hpp"
#include "base/log.hpp"
#include "launcher/daemons/daemons.hpp"
#include "launcher/place/schedulers.hpp"
#include "mpi.h"

extern char** environ;

namespace tutti::launcher {
namespace {

constexpr auto kTimeForSlurm = std::chrono::milliseconds(1000);
constexpr const char* kSlurmCancels = "Slurm ends the job: it was cancelled, or its allocation was";

// The daemon stands beside the command in a build, and in libexec of an installation.
Result<std::string> daemon_path() {
  const auto root = installation_root();
  for (const char* place : {"libexec/tutti/tuttid", "bin/tuttid"})
    if (::access((root / place).c_str(), X_OK) == 0) return (root / place).string();
  return failure(MPI_ERR_FILE, "the daemon tuttid is missing in {}/libexec/tutti", root.string());
}

std::vector<std::string> rsh_command(const std::string& rsh, const std::string& host, const std::string& daemon,
                                     int timeout_seconds, int place) {
  std::vector<std::string> out;
  std::istringstream words(rsh);
  bool by_place = false;  // a scheduler that counts its nodes, and starts no shell there
  for (std::string word; words >> word;) {
    by_place = by_place || word == "%rank";
    out.push_back(word == "%rank" ? std::to_string(place) : word);
  }
  if (by_place) {
    out.insert(out.end(), {"sh", "-c", "exec " + quoted(daemon)});
    return out;
  }
  // Nobody can type a password into many shells at once; say so instead of waiting.
  if (out.size() == 1 && out[0] == "ssh")
    out.insert(out.end(), {"-x", "-T", "-o", "BatchMode=yes", "-o", fmt::format("ConnectTimeout={}", timeout_seconds)});
  out.push_back(host);
  out.push_back("exec " + quoted(daemon));
  return out;
}

// A daemon on each node, none bound: that is for it to do with its ranks.
// `het_group`: of a heterogeneous job's component, which has steps of its own; -1: another job.
std::vector<std::string> srun_command(const std::vector<DaemonStart::Node>& nodes, int het_group,
                                      const std::string& daemon, bool survives) {
  std::string list;
  for (const DaemonStart::Node& node : nodes) list += (list.empty() ? "" : ",") + node.name;
  std::vector<std::string> out{"srun",
                               fmt::format("--nodes={}", nodes.size()),
                               fmt::format("--ntasks={}", nodes.size()),
                               "--ntasks-per-node=1",
                               "--nodelist=" + list,
                               "--mpi=none",
                               "--cpu-bind=none",
                               "--kill-on-bad-exit=0"};  // a daemon that is lost is our affair
  // Where the job goes on, so does the step: without a node that fails, and however long before the others one ends.
  if (survives) out.insert(out.end(), {"--no-kill", "--wait=0"});
  if (het_group >= 0) out.push_back(fmt::format("--het-group={}", het_group));
  out.push_back(daemon);
  return out;
}

}  // namespace

Error Daemons::start(const std::vector<Host>& hosts) {
  std::vector<DaemonStart::Node> nodes;
  std::map<int, std::vector<DaemonStart::Node>> by_het_group;
  for (size_t n = 0; n < hosts.size(); ++n) {
    if (hosts[n].own) continue;
    nodes.push_back({static_cast<int>(n), hosts[n].name, hosts[n].place});
    by_het_group[hosts[n].het_group].push_back(nodes.back());
  }
  if (!options_.by_srun) return start_below(nodes);
  if (Error e = reception_.open()) return e;
  Result<std::string> path = daemon_path();
  if (!path) return std::move(path).error();
  for (const auto& [group, members] : by_het_group)
    if (Error e = start_shell("srun", srun_command(members, group, *path, heals()), members, true)) return e;
  watch_time();
  return {};
}

Error Daemons::start_below(const std::vector<DaemonStart::Node>& nodes) {
  if (Error e = reception_.open()) return e;
  // A scheduler that counts its nodes starts processes for its first one alone.
  const size_t fan_out =
      options_.rsh.find("%rank") == options_.rsh.npos ? static_cast<size_t>(options_.fan_out) : nodes.size();
  const size_t children = std::min(nodes.size(), fan_out);
  for (size_t c = 0; c < children; ++c) {
    const auto at = [&](size_t child) {
      return nodes.begin() + static_cast<std::ptrdiff_t>(nodes.size() * child / children);
    };
    const std::vector<DaemonStart::Node> share(at(c), at(c + 1));
    Error wrong = start_share(share);
    if (!wrong) continue;
    if (!events_.not_started) return wrong;
    std::vector<int> numbers;
    for (const DaemonStart::Node& node : share) numbers.push_back(node.number);
    events_.not_started(numbers, wrong.message());
  }
  watch_time();
  return {};
}

Error Daemons::start_share(const std::vector<DaemonStart::Node>& nodes) {
  Result<std::string> path = daemon_path();
  if (!path) return std::move(path).error();
  const int timeout = static_cast<int>(options_.connect_timeout.count() / 1'000'000'000) + 1;
  return start_shell(nodes[0].name, rsh_command(options_.rsh, nodes[0].name, *path, timeout, nodes[0].place), nodes,
                     false);
}

Error Daemons::start_shell(const std::string& name, std::vector<std::string> command,
                           const std::vector<DaemonStart::Node>& nodes, bool each_reports) {
  SpawnRequest request;
  request.command = std::move(command);
  const char* search = ::getenv("PATH");
  const Program program = find_program(request.command[0], search ? search : "/usr/bin:/bin", "");
  if (program.path.empty())
    return failure(MPI_ERR_OTHER, "cannot reach {}: {} (launch.rsh is '{}')", nodes[0].name, program.problem,
                   options_.rsh);
  request.path = program.path;
  for (char** entry = environ; *entry; ++entry) request.environment.emplace_back(*entry);
  // Inside of another step of the job, which holds its cores, srun would wait for that to end.
  if (options_.by_srun) request.environment.emplace_back("SLURM_OVERLAP=1");
  request.wants_input = true;
  Result<Child> child = spawn(std::move(request), STDERR_FILENO);
  if (!child) return std::move(child).error();

  Shell& shell = *shells_.emplace_back(std::make_unique<Shell>());
  shell.name = name;
  shell.pid = child->pid;
  shell.input = child->in;
  shell.output[0] = child->out;
  shell.output[1] = child->err;
  for (const DaemonStart::Node& node : nodes) enter(node, each_reports ? node.number : nodes[0].number, shell);
  cleanup_.group_started(shell.pid);
  reaper_.expect(shell.pid, [this, &shell](int status, int64_t) { shell_ended(shell, status); });
  for (int i = 0; i < 2; ++i)
    shell.output_watch[i] = loop_.readable(shell.output[i], [this, &shell, i] { read_words(shell, i); });
  DaemonStart start;
  start.job_id = options_.job_id;
  const auto first_below = each_reports ? nodes.end() : nodes.begin() + 1;
  start.nodes.assign(nodes.begin(), first_below);
  start.below.assign(first_below, nodes.end());
  start.rsh = options_.rsh;
  start.fan_out = options_.fan_out;
  start.heartbeat = options_.heartbeat;
  start.above = {.port = reception_.port(), .addresses = own_addresses()};
  start.ancestors = options_.ancestors;
  start.connect_timeout = options_.connect_timeout;
  start.node_timeout = options_.node_timeout;
  start.secret = options_.secret;
  start.above.addresses.push_back("127.0.0.1");  // for a node that shares our network
  shell.start_text = write_start(start);
  feed(shell);
  return {};
}

void Daemons::feed(Shell& shell) {
  while (!shell.start_text.empty()) {
    const ssize_t n = ::write(shell.input, shell.start_text.data(), shell.start_text.size());
    if (n > 0) {
      shell.start_text.erase(0, static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      if (!shell.input_watch) shell.input_watch = loop_.writable(shell.input, [this, &shell] { feed(shell); });
      return;
    } else if (errno != EINTR) {
      shell.start_text.clear();  // the shell has ended, and will say why
    }
  }
  // It stays open: that it closes tells a node that the launcher is gone.
  shell.input_watch.reset();
}

bool Daemons::is_of_use(const Shell& shell) const {
  return std::ranges::any_of(shell.nodes, [this](int node) { return !daemons_.at(node)->dismissed; });
}

// What the remote shell or the daemon says on its streams, before there is a link.
void Daemons::read_words(Shell& shell, int index) {
  char bytes[4096];
  for (;;) {
    const ssize_t n = ::read(shell.output[index], bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    std::string lines =
        n > 0 ? shell.lines[index].add({bytes, static_cast<size_t>(n)}) : shell.lines[index].take_rest();
    std::istringstream each(lines);
    for (std::string line; std::getline(each, line);) {
      while (!line.empty() && line.back() == '\r') line.pop_back();
      if (line.empty() || !is_of_use(shell) || is_reason(shell, line)) continue;
      // srun has something to say of many a cluster's configuration, all the time.
      // That a daemon has ended we say ourselves, where and why as far as it is known.
      const bool of_srun = line.starts_with("srun: ");
      const bool echo = of_srun && (line.find(": task ") != line.npos || line.find(": tasks ") != line.npos);
      const bool chatter = of_srun && (echo || !line.starts_with("srun: error"));
      say(chatter ? Level::debug : Level::note, "[{}] {}", shell.name, line);
    }
    if (n > 0) continue;
    shell.output_watch[index].reset();
    ::close(std::exchange(shell.output[index], -1));
    return;
  }
}

// Whether Slurm says with this line that it ends the daemons' step, which is then the reason of all that follows. The
// word with the cause comes from the first daemon's node, and only if that has the time: where Slurm kills at once, it is
// lost in one run of three. That srun gives the step up is said in every case. It does so as well where it cannot reach a
// node, of which it complains first; then the lost link says what has happened.
bool Daemons::hears_of_end(Shell& shell, const std::string& line) {
  const auto says = [&line](std::string_view words) { return line.find(words) != line.npos; };
  if (says("DUE TO NODE FAILURE") || says("Node failure on") || says("io error with")) shell.is_cut = true;
  if (shell.is_cut) return false;
  const bool is_cause = says("*** ") && says(" CANCELLED AT ");
  if (!is_cause) {
    shell.given_up = shell.given_up || says("Job step aborted");
    return false;
  }
  const bool time = says("DUE TO TIME LIMIT");
  for (const int each : shell.nodes)
    lose(*daemons_.at(each), LinkEnd::hung_up,
         time ? "Slurm ends the job: its time is up (--time of salloc or sbatch)" : kSlurmCancels);
  return true;
}

// What a daemon that cannot start says, or Slurm of a step that it ends, is the reason of what
// happens next: it is told in that sentence, and not beside it.
bool Daemons::is_reason(Shell& shell, const std::string& line) {
  if (options_.by_srun && hears_of_end(shell, line)) return true;
  constexpr std::string_view speaker = "tutti: [daemon on ", anybody = "tutti: error: ";
  constexpr std::string_view label = "] error: ";
  const size_t end = line.starts_with(speaker) ? line.find(label) : line.npos;
  const bool named = end != line.npos;
  if (!named && !line.starts_with(anybody)) return false;
  const std::string_view name = named ? std::string_view(line).substr(speaker.size(), end - speaker.size()) : "";
  const std::string words = line.substr(named ? end + label.size() : anybody.size());
  bool taken = false;
  for (const int each : shell.nodes) {
    Daemon& daemon = *daemons_.at(each);
    if (daemon.ready || !daemon.reason.empty() || (named && daemon.name != name)) continue;
    daemon.reason = words;
    taken = true;
  }
  return taken;
}

// Where Slurm ends the step its daemons go first, and its word comes a moment later.
void Daemons::link_closed(Daemon& daemon, LinkEnd how, const std::string& reason) {
  // Of one whose heartbeats come, or are missed, silence of its kernel says nothing more.
  if (healing_ && how == LinkEnd::silent && vigil_.watches(daemon.node)) return;
  if (healing_ && !options_.by_srun) return release(daemon, false, how, reason);
  if (daemon.users == 0) return;
  const std::string sentence = fmt::format("node {} is lost: {}; the job ends", daemon.name, reason);
  // Grid Engine kills what a job has on all of its nodes, and this process may be the last.
  if (options_.rsh.starts_with("qrsh") && !options_.by_srun && !events_.not_started) {
    daemon.farewell = loop_.after(kTimeForSlurm, [this, &daemon, how, reason] {
      lose_with_those_behind(daemon, how, reason + ", as where Grid Engine ends a job (qdel, or its time is up)");
    });
    return;
  }
  if (!options_.by_srun) return lose_with_those_behind(daemon, how, reason);
  daemon.farewell = loop_.after(kTimeForSlurm, [this, &daemon, how, reason, sentence] {
    if (healing_ && !(daemon.shell->given_up && !daemon.shell->is_cut)) return release(daemon, false, how, reason);
    lose(daemon, how, daemon.shell->given_up && !daemon.shell->is_cut ? kSlurmCancels : sentence);
  });
}

// Slurm may end the ranks of a step before the daemon, which then tells of the first ones that a signal has killed them:
// SIGTERM, to which they have some time to react, or SIGKILL.
// For such an end its word is waited for, too.
Error Daemons::heard(Daemon& daemon, Message type, std::string_view payload) {
  RankEnd end;
  const bool may_be_slurm = options_.by_srun && type == Message::rank_ended && !events_.job_ends() &&
                            wire::unpack(payload, end) && WIFSIGNALED(end.wait_status) &&
                            (WTERMSIG(end.wait_status) == SIGKILL || WTERMSIG(end.wait_status) == SIGTERM);
  if (!may_be_slurm) return events_.message(daemon.node, type, payload);
  daemon.deaths.push_back(loop_.after(kTimeForSlurm / 2, [this, &daemon, bytes = std::string(payload)] {
    if (daemon.dismissed) return;
    if (daemon.shell->given_up && !daemon.shell->is_cut) return lose(daemon, LinkEnd::hung_up, kSlurmCancels);
    if (daemon.farewell) return;  // its end is told soon
    if (Error e = events_.message(daemon.node, Message::rank_ended, bytes))
      lose(daemon, LinkEnd::wrong, fmt::format("node {} is lost: {}; the job ends", daemon.name, e.message()));
  }));
  return {};
}

std::string Daemons::why_not_started(const Daemon& daemon, int code) const {
  if (!daemon.reason.empty()) return fmt::format("cannot start the daemon on {}: {}", daemon.name, daemon.reason);
  if (options_.by_srun)
    return fmt::format(
        "cannot start the daemon on {}: srun ended with code {}; does "
        "'srun --nodelist={} true' work here? (--set launch.rsh=ssh does without it)",
        daemon.name, code, daemon.name);
  if (code == 127 || code == 126)
    return fmt::format(
        "there is no tuttid on {} at the place where it is here; install "
        "Tutti at the same path on all nodes",
        daemon.name);
  if (const std::string why = why_shell_refuses(options_.rsh, daemon.name); !why.empty())
    return fmt::format("cannot start the daemon on {}: {} ended with code {}; {}", daemon.name, options_.rsh, code,
                       why);
  return fmt::format(
      "cannot start the daemon on {}: {} ended with code {}; does "
      "'{} {} true' work without a password?{}",
      daemon.name, options_.rsh, code, options_.rsh, daemon.name,
      std::getenv("OAR_JOB_ID") && !options_.rsh.starts_with("oarsh")
          ? " In jobs of OAR oarsh may go where ssh does not: --set launch.rsh=oarsh"
          : "");
}

void Daemons::shell_ended(Shell& shell, int wait_status) {
  cleanup_.group_ended(shell.pid);
  shell.pid = -1;
  for (int i = 0; i < 2; ++i)
    if (shell.output[i] >= 0) read_words(shell, i);
  const int code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
  const std::vector<int> nodes = shell.nodes;
  for (int node : nodes) {
    Daemon& daemon = *daemons_.at(node);
    if (daemon.ready || daemon.dismissed) continue;
    const Daemon& child = *daemons_.at(daemon.via);
    const std::string why = why_not_started(child, code);
    if (events_.not_started && !child.ready) {
      hand_up(nodes, why);
      break;
    }
    lose(daemon, LinkEnd::hung_up, why);
  }
  check_gone();
}

void Daemons::kill_shells() {
  for (const auto& shell : shells_)
    if (shell->pid > 0) ::kill(-shell->pid, SIGKILL);
}

}  // namespace tutti::launcher
