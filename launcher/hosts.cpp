// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/hosts.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <numeric>
#include <sstream>

#include "launcher/slurm.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

constexpr int kMostSlots = 100'000;

std::optional<int> parse_slots(std::string_view word) {
  int slots = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), slots);
  if (problem != std::errc() || end != word.data() + word.size()) return {};
  return slots < 1 || slots > kMostSlots ? std::nullopt : std::optional(slots);
}

bool valid_name(std::string_view name) {
  return !name.empty() && name[0] != '-' && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) || std::strchr("-._:%[]@", c) != nullptr;
  });
}

// "name" or "name:slots"; an IPv6 address with slots is "[address]:slots".
std::optional<Host> split_host(std::string_view word) {
  Host host;
  const size_t colon = word.rfind(':');
  const bool many_colons = std::ranges::count(word, ':') > 1;
  const bool bracketed = word.starts_with('[');
  if (colon != word.npos && (!many_colons || (bracketed && word[colon - 1] == ']'))) {
    host.slots = parse_slots(word.substr(colon + 1));
    if (!host.slots) return {};
    word = word.substr(0, colon);
  }
  if (bracketed && word.ends_with(']')) word = word.substr(1, word.size() - 2);
  if (!valid_name(word)) return {};
  host.name = word;
  return host;
}

void merge(std::vector<Host>& hosts, Host host) {
  for (Host& known : hosts) {
    if (known.name != host.name && !(known.own && host.own)) continue;
    known.slots = known.slots.value_or(1) + host.slots.value_or(1);
    return;
  }
  hosts.push_back(std::move(host));
}

Host resolved(Host host) {
  host.own = is_own_name(host.name);
  if (host.own) host.name = own_name();
  return host;
}

Result<std::vector<Host>> read_hostfile(const std::string& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  if (!stream || !(text << stream.rdbuf()))
    return failure(MPI_ERR_FILE, "hostfile {}: {}", file, std::strerror(errno ? errno : EIO));
  Result<std::vector<Host>> lines = parse_hostfile(text.str(), file);
  if (!lines) return lines;
  std::vector<Host> hosts;
  for (const Host& host : *lines) merge(hosts, resolved(host));
  return hosts;
}

// The hosts among which --host selects, and their place for messages; none: any host will do.
struct Pool {
  std::vector<Host> hosts;
  std::string place;
};
Result<Pool> pool_of(const RunOptions& run, const std::optional<SlurmAllocation>& slurm) {
  Pool out;
  if (!run.hostfile.empty()) {
    Result<std::vector<Host>> read = read_hostfile(run.hostfile);
    if (!read) return std::move(read).error();
    return Pool{std::move(*read), "the hostfile " + run.hostfile};
  }
  if (!slurm) return out;
  out.place = "the Slurm allocation of job " + slurm->job_id;
  for (const SlurmNode& node : slurm->nodes) {
    Host host = resolved({node.name, node.tasks, false});
    // Slurm's name of a node need not be the node's own.
    if (node.name == slurm->this_node) host = {own_name(), node.tasks, true};
    merge(out.hosts, std::move(host));
  }
  return out;
}

bool holds_all(const SlurmAllocation& slurm, const std::vector<Host>& hosts) {
  return std::ranges::all_of(hosts, [&](const Host& host) {
    return host.own || std::ranges::any_of(slurm.nodes, [&](const SlurmNode& node) {
             return node.name == host.name;
           });
  });
}

std::string address_text(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET)
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text,
                sizeof text);
  else if (address->sa_family == AF_INET6)
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text,
                sizeof text);
  return text;
}

}  // namespace

Result<Host> parse_host(std::string_view word) {
  std::optional<Host> host = split_host(word);
  if (!host)
    return failure(MPI_ERR_ARG, "'{}' is not a host; write name or name:slots, such as node1:4",
                   word);
  return std::move(*host);
}

Result<std::vector<Host>> parse_hostfile(std::string_view text, std::string_view file) {
  std::vector<Host> hosts;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word)) continue;
    std::optional<Host> host = split_host(word);
    bool right = host.has_value();
    while (right && words >> word) {
      const size_t equals = word.find('=');
      const std::string key = word.substr(0, equals);
      const auto count = equals == word.npos
                             ? std::nullopt
                             : parse_slots(std::string_view(word).substr(equals + 1));
      right = count && (key == "slots" || key == "max_slots" || key == "max-slots");
      if (right && key == "slots") host->slots = count;
    }
    if (!right)
      return failure(MPI_ERR_ARG,
                     "{}:{}: '{}' is not expected here; a line is 'name', "
                     "'name slots=N' or 'name:N', N from 1 to {}",
                     file, number, word, kMostSlots);
    merge(hosts, std::move(*host));
  }
  if (hosts.empty()) return failure(MPI_ERR_ARG, "{}: names no host", file);
  return hosts;
}

std::string own_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name[0] ? name : "localhost";
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> four, six;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return {};
  for (const ifaddrs* at = all; at; at = at->ifa_next) {
    if (!at->ifa_addr || !(at->ifa_flags & IFF_UP) || (at->ifa_flags & IFF_LOOPBACK)) continue;
    const std::string text = address_text(at->ifa_addr);
    if (text.empty() || text.starts_with("fe80:")) continue;
    (at->ifa_addr->sa_family == AF_INET ? four : six).push_back(text);
  }
  ::freeifaddrs(all);
  four.insert(four.end(), six.begin(), six.end());
  return four;
}

bool is_own_name(const std::string& name) {
  const std::string own = own_name();
  if (name == own || name == own.substr(0, own.find('.')) || name == "localhost" ||
      name.starts_with("127.") || name == "::1")
    return true;
  const std::vector<std::string> addresses = own_addresses();
  if (std::ranges::count(addresses, name)) return true;
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return false;
  bool ours = false;
  for (const addrinfo* at = found; at; at = at->ai_next)
    ours = ours || std::ranges::count(addresses, address_text(at->ai_addr));
  ::freeaddrinfo(found);
  return ours;
}

Result<Allocation> allocate(const RunOptions& run) {
  Allocation out;
  Result<std::optional<SlurmAllocation>> slurm = slurm_allocation(::getenv);
  if (!slurm) return std::move(slurm).error();
  Result<Pool> pool = pool_of(run, *slurm);
  if (!pool) return std::move(pool).error();
  const std::vector<Host>& file_hosts = pool->hosts;
  out.hosts = file_hosts;
  std::vector<std::vector<Host>> named;
  bool any_named = false;
  for (const AppOptions& app : run.apps) {
    std::vector<Host>& mine = named.emplace_back();
    for (const std::string& word : app.hosts) {
      Result<Host> host = parse_host(word);
      if (!host) return std::move(host).error().within("--host");
      merge(mine, resolved(std::move(*host)));
    }
    any_named = any_named || !mine.empty();
  }
  if (any_named && !file_hosts.empty()) out.hosts.clear();
  for (const std::vector<Host>& hosts : named) {
    for (Host host : hosts) {
      const auto same = [&](const Host& h) { return h.name == host.name; };
      if (!file_hosts.empty()) {
        const auto in_file = std::ranges::find_if(file_hosts, same);
        if (in_file == file_hosts.end())
          return failure(MPI_ERR_ARG, "--host {}: {} does not name it", host.name, pool->place);
        if (!host.slots) host.slots = in_file->slots;
      } else if (!host.slots) {
        host.slots = 1;  // each mention is a slot, as users of other launchers expect
      }
      // Two programs that name a host share its slots.
      if (const auto known = std::ranges::find_if(out.hosts, same); known == out.hosts.end())
        out.hosts.push_back(host);
      else if (host.slots)
        known->slots = std::max(known->slots.value_or(0), *host.slots);
    }
  }
  if (out.hosts.empty()) out.hosts.push_back({own_name(), {}, true});
  out.within_slurm = *slurm && holds_all(**slurm, out.hosts);
  // A program without hosts of its own may use all of them, the hostfile's too.
  for (const std::vector<Host>& hosts : named) {
    std::vector<int>& mine = out.app_hosts.emplace_back();
    for (size_t i = 0; i < out.hosts.size(); ++i)
      if (hosts.empty() ||
          std::ranges::any_of(hosts, [&](const Host& h) { return h.name == out.hosts[i].name; }))
        mine.push_back(static_cast<int>(i));
  }
  return out;
}

}  // namespace tutti::launcher
