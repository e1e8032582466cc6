// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/daemons/daemon_start.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <sstream>

#include "base/printable.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {
constexpr size_t kLongestStart = 1 << 20;
constexpr const char* kFirstLine = "tutti-daemon";

std::string line_of(const char* key, const DaemonStart::Ancestor& ancestor) {
  std::string out = fmt::format("{} {}", key, ancestor.port);
  for (const std::string& address : ancestor.addresses) out += " " + address;
  return out + "\n";
}

DaemonStart::Ancestor ancestor_in(const std::string& value) {
  DaemonStart::Ancestor out;
  std::istringstream words(value);
  words >> out.port;
  for (std::string address; words >> address;) out.addresses.push_back(address);
  return out;
}
}  // namespace

std::string write_start(const DaemonStart& start) {
  std::string out = fmt::format("{} {} {}\njob {}\n", kFirstLine, kWireVersion, TUTTI_VERSION, start.job_id);
  for (const DaemonStart::Node& node : start.nodes) out += fmt::format("node {} {}\n", node.number, node.name);
  for (const DaemonStart::Node& node : start.below) out += fmt::format("below {} {}\n", node.number, node.name);
  out += fmt::format("rsh {}\nfan_out {}\nheartbeat {}\n", start.rsh, start.fan_out, start.heartbeat.count());
  out += line_of("above", start.above);
  for (const DaemonStart::Ancestor& ancestor : start.ancestors) out += line_of("ancestor", ancestor);
  return out + fmt::format("connect_timeout {}\nnode_timeout {}\nsecret {}\nend\n", start.connect_timeout.count(),
                           start.node_timeout.count(), start.secret.hex());
}

Result<DaemonStart> read_start(int fd) {
  std::string text;
  while (text.find("\nend\n") == text.npos) {
    char bytes[4096];
    const ssize_t n = ::read(fd, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || text.size() > kLongestStart)
      return failure(MPI_ERR_OTHER,
                     "tuttid is started by mpirun, which tells it on its standard "
                     "input what to do; that ended too early");
    text.append(bytes, static_cast<size_t>(n));
  }
  DaemonStart start;
  std::istringstream lines(text);
  std::string secret, version;
  int protocol = 0;
  int64_t connect_timeout = 0, node_timeout = 0, heartbeat = 0;
  for (std::string line; std::getline(lines, line) && line != "end";) {
    const size_t space = line.find(' ');
    const std::string key = line.substr(0, space);
    const std::string value = space == line.npos ? "" : line.substr(space + 1);
    const auto number = [&](auto& out) { std::from_chars(value.data(), value.data() + value.size(), out); };
    if (key == kFirstLine) {
      number(protocol);
      if (const size_t behind = value.find(' '); behind != value.npos) version = value.substr(behind + 1);
    } else if (key == "job")
      start.job_id = value;
    else if (key == "node")
      start.nodes.push_back({std::atoi(value.c_str()), value.substr(value.find(' ') + 1)});
    else if (key == "below")
      start.below.push_back({std::atoi(value.c_str()), value.substr(value.find(' ') + 1)});
    else if (key == "rsh")
      start.rsh = value;
    else if (key == "fan_out")
      number(start.fan_out);
    else if (key == "heartbeat")
      number(heartbeat);
    else if (key == "above")
      start.above = ancestor_in(value);
    else if (key == "ancestor")
      start.ancestors.push_back(ancestor_in(value));
    else if (key == "connect_timeout")
      number(connect_timeout);
    else if (key == "node_timeout")
      number(node_timeout);
    else if (key == "secret")
      secret = value;
  }
  start.connect_timeout = std::chrono::nanoseconds(connect_timeout);
  start.node_timeout = std::chrono::nanoseconds(node_timeout);
  start.heartbeat = std::chrono::nanoseconds(heartbeat);
  // What else both know of a job belongs to a version, too: its settings, the records of ranks, the library.
  if (protocol != kWireVersion || version != TUTTI_VERSION)
    return failure(
        MPI_ERR_OTHER,
        "the launcher is of another version of Tutti ({}, protocol {}; this node has {}, protocol {}); install "
        "the same on all nodes",
        version.empty() ? "one that does not say which" : printable(version), protocol, TUTTI_VERSION, kWireVersion);
  std::optional<Secret> known = Secret::from_hex(secret);
  if (!known || start.above.addresses.empty() || start.nodes.empty() || start.job_id.empty() ||
      start.job_id.find('/') != std::string::npos)
    return failure(MPI_ERR_OTHER, "tuttid cannot make sense of what mpirun tells it");
  start.fan_out = std::max(1, start.fan_out);
  start.secret = std::move(*known);
  return start;
}

Result<DaemonStart::Node> own_node(const DaemonStart& start) {
  if (start.nodes.size() == 1) return DaemonStart::Node(start.nodes[0]);
  const char* name = ::getenv("SLURMD_NODENAME");
  for (const DaemonStart::Node& node : start.nodes)
    if (name && node.name == name) return DaemonStart::Node(node);
  return failure(MPI_ERR_OTHER, "tuttid was started on {}, which is not among the job's nodes",
                 name ? name : "a node that Slurm does not name");
}

std::string daemon_claim(const std::string& challenge, const std::string& nonce, int node) {
  return fmt::format("daemon {} {} {}", challenge, nonce, node);
}

std::string launcher_claim(const std::string& challenge, const std::string& nonce, int node) {
  return fmt::format("launcher {} {} {}", challenge, nonce, node);
}

std::string quoted(const std::string& word) {
  std::string out = "'";
  for (char c : word)
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  return out + "'";
}

}  // namespace tutti::launcher
