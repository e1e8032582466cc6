// SPDX-License-Identifier: BSD-3-Clause
// The daemon of a node, started by the launcher through a remote shell: connects back, is the PMIx
// server of its node's ranks, and ends, with everything that it started, when the connection does.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>

#include "base/log.hpp"
#include "launcher/daemons/bundle.hpp"
#include "launcher/daemons/daemon_start.hpp"
#include "launcher/daemons/daemons.hpp"
#include "launcher/daemons/place.hpp"
#include "launcher/daemons/remote_node.hpp"
#include "launcher/daemons/upward.hpp"
#include "launcher/node/limits.hpp"
#include "launcher/node/node_agent.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

constexpr auto kLastGrace = std::chrono::milliseconds(700);

// The remote shell holds the other end of our standard input, and the launcher that of the shell.
int lifeline() {
  struct stat about;
  const bool can_end = ::fstat(STDIN_FILENO, &about) == 0 && (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode));
  return can_end ? STDIN_FILENO : -1;
}

// Large: it is the whole program, and owns what main() would.
class Daemon {
 public:
  Daemon(DaemonStart start, DaemonStart::Node node, Cleanup& cleanup)
      : start_(std::move(start)),
        node_(std::move(node)),
        cleanup_(cleanup),
        reaper_(loop_),
        place_(loop_, cleanup, start_, node_.number,
               {[this] { return proven(); }, [this](Message m, std::string_view bytes) { return hear(m, bytes); },
                [this](std::vector<int> way, const std::string& letter) {
                  if (children_) children_->carry(std::move(way), letter);
                },
                [this] {
                  if (children_) children_->tell_again();
                },
                [this](bool departs, const std::string& distrusted) {
                  if (!distrusted.empty()) refuse("{}", distrusted);
                  departs_ = departs;
                  end();
                }}) {}

  Error prepare() {
    // In turn: both libraries use the environment, and PMIx changes it.
    Result<Topology> topology = Topology::of_this_machine();
    if (!topology) return std::move(topology).error();
    Result<std::unique_ptr<PmixServer>> pmix =
        PmixServer::start(cleanup_.folder(), node_.name, *topology, nullptr, place_.heals());
    if (!pmix) return std::move(pmix).error();
    pmix_ = std::move(*pmix);
    topology_ = std::make_unique<Topology>(std::move(*topology));
    return place_.connect();
  }

  int run() {
    for (int s : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) signals_.push_back(loop_.on_signal(s, [this] { end(); }));
    place_.begin(topology_->shape());
    // A scheduler may send these to all processes of a job: the launcher passes them on to the ranks.
    for (int s : {SIGUSR1, SIGUSR2}) ::signal(s, SIG_IGN);
    if (lifeline() >= 0) watch_input();
    loop_.run();
    return exit_code_;
  }

 private:
  // A shell may close it early. What ends this process is the end of its connection.
  void watch_input() {
    input_ = loop_.readable(STDIN_FILENO, [this] {
      char bytes[256];
      const ssize_t n = ::read(STDIN_FILENO, bytes, sizeof bytes);
      if (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN))) return;
      input_.reset();
      cleanup_.still_there();
    });
  }

  Error proven() {
    events_ = std::make_unique<LauncherEvents>(
        loop_, node_.name, place_.heals(), [this](Message m, const Parcel& bytes) { tell_up(node_.number, m, bytes); });
    agent_ = std::make_unique<NodeAgent>(loop_, reaper_, cleanup_, *topology_, *pmix_, *events_, node_.number);
    return start_.below.empty() ? Error() : start_children();
  }

  Error start_children() {
    children_ = std::make_unique<Daemons>(
        loop_, reaper_, cleanup_,
        Daemons::Options{start_.job_id, start_.rsh, false, start_.connect_timeout, start_.node_timeout, start_.fan_out,
                         start_.heartbeat, start_.secret, node_.number, ancestors_of_children()},
        Daemons::Events{
            nullptr,
            [this](int node, LinkEnd how, const std::string& sentence) {
              place_.send(Message::parted, node, how, sentence);
            },
            [this](int node, Message type, std::string_view payload) {
              return tell_up(node, type, std::string(payload)), Error();
            },
            nullptr,
            [this](int node, const NodeShape& shape, int above) { place_.send(Message::joined, node, shape, above); },
            [this](const std::vector<int>& nodes, const std::string& why) {
              place_.send(Message::not_started, spans_of(nodes), why);
            },
            nullptr, [this](const std::string& told) { place_.send_packed(Message::told, told); },
            [this](Message type, const std::string& payload) { place_.write(type, payload); },
            [this] { return place_.has_lease(); }});
    return children_->start_below(start_.below);
  }

  std::vector<DaemonStart::Ancestor> ancestors_of_children() const {
    if (!place_.heals()) return {};
    std::vector<DaemonStart::Ancestor> out = start_.ancestors;
    out.insert(out.begin(), start_.above);
    return out;
  }

  // From above, to this node or to others.
  Error hear(Message type, std::string_view payload) {
    if (type == Message::relay) return relay(payload);
    if (type == Message::give_up) {
      int node = 0;
      if (!wire::unpack(payload, node)) return failure(MPI_ERR_OTHER, "{}", out_of_shape(type));
      if (children_ && children_->knows(node)) children_->give_up(node);
      return {};
    }
    if (type == Message::watch) {
      place_.heal();
      if (children_) children_->heal();
      return {};
    }
    if (type == Message::adopt) {
      int node = 0, epoch = 0;
      bool yes = false;
      if (!wire::unpack(payload, node, epoch, yes)) return failure(MPI_ERR_OTHER, "{}", out_of_shape(type));
      if (children_) children_->answer(node, epoch, yes);
      return {};
    }
    if (type == Message::launch) upward_.takes_part(node_.number);
    if (type == Message::look) upward_.is_asked(node_.number, payload);
    return events_->hear(type, payload, *agent_);
  }

  Error relay(std::string_view payload) {
    const auto senseless = [] { return failure(MPI_ERR_OTHER, "{}", out_of_shape(Message::relay)); };
    const std::optional<Relayed> relayed = read_relayed(payload);
    if (!relayed || relayed->type == Message::relay) return senseless();
    const Message type = relayed->type;
    const Parcel for_all{std::string(relayed->payload)};
    bool own = false;
    for (const int node : relayed->nodes) {
      if (own && node == node_.number) return senseless();
      own = own || node == node_.number;
      if (node == node_.number || !children_ || !children_->knows(node)) continue;
      if (type == Message::launch) upward_.takes_part(node);
      if (type == Message::look) upward_.is_asked(node, for_all.view());
      children_->tell(node, type, for_all);
    }
    return own ? hear(type, for_all.view()) : Error();
  }

  // From this node, or from others.
  void tell_up(int node, Message type, const Parcel& payload) {
    if (place_.heals()) return place_.write(type, payload.view());
    children_ ? upward_.tell(node, type, payload) : place_.send_packed(type, payload);
  }

  template <class... T>
  void refuse(fmt::format_string<T...> format, T&&... values) {
    exit_code_ = 1;
    say(Level::error,
        "what listens where the launcher should is not to be trusted: {}; this "
        "node's part of the job ends",
        fmt::format(format, std::forward<T>(values)...));
  }

  // The launcher is gone, or has no more use for us: so nothing of ours may stay.
  void end() {
    if (gone_) return;
    if (agent_) agent_->signal_ranks(SIGKILL);  // first: others take the end of the link for theirs
    place_.close();
    if (children_) children_->dismiss_all(false, [this] { children_gone_ = true; }, !departs_);
    if (!agent_) return loop_.stop();
    agent_->output_taken(SIZE_MAX);
    agent_->finish(true);
    gone_ = loop_.every(std::chrono::milliseconds(5), [this] {
      agent_->output_taken(SIZE_MAX);  // nobody will say so any more
      if (agent_->is_finished() && (!children_ || children_gone_)) loop_.stop();
    });
    last_ = loop_.after(kLastGrace, [this] { loop_.stop(); });
  }

  DaemonStart start_;
  DaemonStart::Node node_;
  Cleanup& cleanup_;
  Loop loop_;
  Reaper reaper_;
  std::unique_ptr<Topology> topology_;
  std::unique_ptr<PmixServer> pmix_;
  Place place_;
  bool departs_ = false;
  int exit_code_ = 0;
  std::unique_ptr<LauncherEvents> events_;
  std::unique_ptr<NodeAgent> agent_;
  std::unique_ptr<Daemons> children_;  // where others are started from here
  bool children_gone_ = false;
  Upward upward_{
      loop_,
      node_.number,
      {.send = [this](Message type, std::string_view begin, const Parcel& end) { place_.send_with(type, begin, end); },
       .traffic_below = [this] { return children_->traffic().packed(); }}};
  std::vector<Watch> signals_;
  Watch input_, gone_, last_;
};

int run_daemon() {
  ::signal(SIGPIPE, SIG_IGN);
  Result<DaemonStart> start = read_start(STDIN_FILENO);
  if (!start) {
    say(Level::error, "{}", start.error().message());
    return 1;
  }
  Result<DaemonStart::Node> node = own_node(*start);
  if (!node) {
    say(Level::error, "{}", node.error().message());
    return 1;
  }
  set_speaker("daemon on " + node->name);
  if (Error e = room_for_ourselves()) {
    say(Level::error, "{}", e.message());
    return 1;
  }
  Result<Cleanup> cleanup = Cleanup::arm(start->job_id, std::to_string(node->number), lifeline());
  if (!cleanup) {
    say(Level::error, "{}", cleanup.error().message());
    return 1;
  }
  Daemon daemon(std::move(*start), std::move(*node), *cleanup);
  if (Error e = daemon.prepare()) {
    say(Level::error, "{}", e.message());
    return 1;
  }
  return daemon.run();
}

}  // namespace
}  // namespace tutti::launcher

int main(int argc, char**) {
  for (int fd = 0; fd < 3; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != fd) ::_exit(1);
  tutti::launcher::hear_signals();
  tutti::launcher::end_where_memory_does();
  tutti::launcher::raise_file_limit();
  if (argc > 1) {
    std::fputs("tuttid is the daemon that mpirun starts on a node; it takes no arguments\n", stderr);
    return 2;
  }
  const int code = tutti::launcher::run_daemon();
  ::_exit(code);  // PMIx's thread is left to the end of the process
}
