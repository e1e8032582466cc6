// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/place/hosts.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <sstream>

#include "base/file_text.hpp"
#include "base/log.hpp"
#include "base/printable.hpp"
#include "launcher/place/rankfile.hpp"
#include "launcher/place/schedulers.hpp"
#include "launcher/place/slurm.hpp"
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
  const size_t at = name.find('@');
  return !name.empty() && name[0] != '-' && at != 0 && at + 1 != name.size() &&
         std::ranges::all_of(
             name, [](unsigned char c) { return std::isalnum(c) || (c != 0 && std::strchr("-._:%@", c) != nullptr); });
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
    if (!same_name(known.name, host.name) && !(known.own && host.own)) continue;
    known.slots = known.slots.value_or(1) + host.slots.value_or(1);
    if (host.max_slots) known.max_slots = known.max_slots.value_or(0) + *host.max_slots;
    return;
  }
  hosts.push_back(std::move(host));
}

// "user@name": who the user is.
std::string user_of(const std::string& name) {
  const size_t at = name.find('@');
  return at == name.npos ? "" : name.substr(0, at);
}

bool is_own_user(const std::string& user) {
  passwd entry{}, *found = nullptr;
  char texts[4096];
  return user.empty() || (::getpwnam_r(user.c_str(), &entry, texts, sizeof texts, &found) == 0 && found &&
                          found->pw_uid == ::geteuid());
}

// Ranks of this machine are started here, by a fork, and so as the user who asks for them.
Result<Host> resolved(Host host) {
  const std::string user = user_of(host.name);
  if (!is_own_name(user.empty() ? host.name : host.name.substr(user.size() + 1))) return host;
  if (!is_own_user(user))
    return failure(MPI_ERR_ARG,
                   "{}: on this machine ranks are your own, not those of user {}; write {}, or "
                   "start mpirun as {}",
                   host.name, user, host.name.substr(user.size() + 1), user);
  host.own = true;
  host.name = own_name();
  return host;
}

// The lines as they follow each other, for --map-by seq; each host once for others.
Result<std::vector<Host>> read_hostfile(const std::string& file) {
  const Result<std::string> text = text_of(file);
  if (!text) return failure(MPI_ERR_FILE, "hostfile {}: {}", file, text.error().message());
  Result<std::vector<Host>> lines = parse_host_lines(*text, file);
  if (!lines) return lines;
  for (Host& line : *lines) {
    Result<Host> host = resolved(std::move(line));
    if (!host) return std::move(host).error().within("hostfile " + file);
    line = std::move(*host);
  }
  return lines;
}

// The hosts among which --host selects, and their place for messages; none: any host will do.
struct Pool {
  std::vector<Host> hosts;
  std::string place;
  std::vector<Host> lines{};  // of a hostfile, as they follow each other
};
Pool pool_of_job(const ScheduledJob& job) {
  Pool out{{}, fmt::format("the allocation of job {} of {}", job.job_id, job.scheduler)};
  for (const ScheduledNode& node : job.nodes) {
    Host host{.name = node.name, .own = is_own_name(node.name), .place = static_cast<int>(&node - job.nodes.data())};
    if (node.slots > 0) host.slots = node.slots;
    if (host.own) host.name = own_name();
    merge(out.hosts, std::move(host));
  }
  return out;
}

Result<Pool> pool_of(const RunOptions& run, const std::optional<SlurmAllocation>& slurm,
                     const std::optional<ScheduledJob>& job) {
  Pool out;
  if (!run.hostfile.empty()) {
    Result<std::vector<Host>> read = read_hostfile(run.hostfile);
    if (!read) return std::move(read).error();
    out.place = "the hostfile " + run.hostfile;
    for (const Host& line : *read) merge(out.hosts, line);
    out.lines = std::move(*read);
    return out;
  }
  if (!slurm && job) return pool_of_job(*job);
  if (!slurm) return out;
  out.place = "the Slurm allocation of job " + slurm->job_id;
  for (const SlurmNode& node : slurm->nodes) {
    Host host{
        .name = node.name, .slots = node.tasks, .cores_per_rank = node.cores_per_task, .het_group = node.het_group};
    // Slurm's name of a node need not be the node's own.
    host.own = node.name == slurm->this_node || is_own_name(node.name);
    if (host.own) host.name = own_name();
    merge(out.hosts, std::move(host));
  }
  return out;
}

// Of a scheduler, Slurm or another one.
template <class Job>
bool holds_all(const Job& job, const std::vector<Host>& hosts) {
  return std::ranges::all_of(hosts, [&](const Host& host) {
    return host.own ||
           std::ranges::any_of(job.nodes, [&](const auto& node) { return same_name(node.name, host.name); });
  });
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

std::string address_text(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET)
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
  else if (address->sa_family == AF_INET6)
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text, sizeof text);
  return text;
}

}  // namespace

Result<Host> parse_host(std::string_view word) {
  std::optional<Host> host = split_host(word);
  if (!host)
    return failure(MPI_ERR_ARG, "'{}' is not a host; write name or name:slots, such as node1:4", printable(word));
  return std::move(*host);
}

namespace {

// "slots=4", "max_slots=8": where it goes, if this is right and the first of its kind.
struct LineError {
  std::string word;
  const char* problem;
};
std::optional<LineError> take_word(const std::string& word, Host& host) {
  constexpr const char* unexpected = "is not expected here";
  const size_t equals = word.find('=');
  const std::string key = word.substr(0, equals);
  const bool is_max = key == "max_slots" || key == "max-slots";
  if (equals == word.npos || (!is_max && key != "slots")) return LineError{word, unexpected};
  const std::optional<int> count = parse_slots(std::string_view(word).substr(equals + 1));
  if (!count) return LineError{word, unexpected};
  std::optional<int>& place = is_max ? host.max_slots : host.slots;
  if (place) return LineError{word, "comes after another number of the same kind"};
  place = count;
  return std::nullopt;
}

}  // namespace

Result<std::vector<Host>> parse_hostfile(std::string_view text, std::string_view file) {
  Result<std::vector<Host>> lines = parse_host_lines(text, file);
  if (!lines) return lines;
  std::vector<Host> hosts;
  for (Host& line : *lines) merge(hosts, std::move(line));
  return hosts;
}

Result<std::vector<Host>> parse_host_lines(std::string_view text, std::string_view file) {
  std::vector<Host> hosts;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // editors' mark of UTF-8
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word)) continue;
    std::optional<Host> host = split_host(word);
    std::optional<LineError> error;
    if (!host) error = LineError{word, "is not expected here"};
    while (!error && words >> word) error = take_word(word, *host);
    if (!error && host->max_slots && host->slots.value_or(1) > *host->max_slots)
      error = LineError{fmt::format("max_slots={}", *host->max_slots), "is less than its slots"};
    if (error)
      return failure(MPI_ERR_ARG,
                     "{}:{}: '{}' {}; a line is 'name', 'name slots=N', 'name slots=N max_slots=N' "
                     "or 'name:N', each N from 1 to {}",
                     file, number, printable(error->word), error->problem, kMostSlots);
    hosts.push_back(std::move(*host));
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

bool same_name(std::string_view a, std::string_view b) {
  for (std::string_view* name : {&a, &b})
    if (name->size() > 1 && name->ends_with('.')) name->remove_suffix(1);
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

bool is_own_name(const std::string& written) {
  // The dot of the root is for name servers: /etc/hosts has none.
  const std::string name = written.substr(0, written.size() - (written.ends_with('.') ? 1 : 0));
  const std::string own = own_name();
  if (same_name(name, own) || same_name(name, own.substr(0, own.find('.'))) || same_name(name, "localhost") ||
      is_loopback(name))
    return true;
  const std::vector<std::string> addresses = own_addresses();
  if (std::ranges::count(addresses, name)) return true;
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return false;
  bool ours = false;
  for (const addrinfo* at = found; at; at = at->ai_next) {
    const std::string address = address_text(at->ai_addr);
    // Debian's /etc/hosts gives the machine's full name the address 127.0.1.1.
    ours = ours || is_loopback(address) || std::ranges::count(addresses, address);
  }
  ::freeaddrinfo(found);
  return ours;
}

namespace {

// "+n2" of Open MPI: the third host of the hostfile or of the allocation, with its slots; "+n2:4" with four.
Result<Host> relative_host(const std::string& word, const Pool& pool) {
  const size_t colon = std::min(word.find(':'), word.size());
  const std::string_view number = std::string_view(word).substr(2, colon - 2);
  size_t index = 0;
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), index);
  const bool right = problem == std::errc() && end == number.data() + number.size();
  if (!right)
    return failure(MPI_ERR_ARG, "'{}' is not a host; +n0 is the first of a hostfile or an allocation", printable(word));
  if (index >= pool.hosts.size())
    return failure(MPI_ERR_ARG, "{}: {}", word,
                   pool.hosts.empty()
                       ? "there is no hostfile and no allocation whose hosts it could count; name it"
                       : fmt::format("{} has {} hosts, and +n0 is the first", pool.place, pool.hosts.size()));
  Host out = pool.hosts[index];
  if (colon < word.size()) {
    out.slots = parse_slots(std::string_view(word).substr(colon + 1));
    if (!out.slots) return failure(MPI_ERR_ARG, "'{}' is not a number of slots", printable(word.substr(colon + 1)));
  }
  return out;
}

// A word of --host or of a rankfile.
Result<Host> host_of(const std::string& word, const Pool& pool) {
  if (word.starts_with("+n")) return relative_host(word, pool);
  Result<Host> host = parse_host(word);
  if (!host) return host;
  return resolved(std::move(*host));
}

Result<std::vector<RankLine>> read_rankfile(const std::string& name) {
  if (name.empty()) return failure(MPI_ERR_ARG, "--map-by rankfile needs the file: --rankfile FILE");
  const Result<std::string> text = text_of(name);
  if (!text) return failure(MPI_ERR_FILE, "--rankfile {}: the file cannot be read ({})", name, text.error().message());
  return parse_rankfile(*text, name);
}

std::vector<int> sequence_of(const std::vector<Host>& lines, const std::vector<Host>& hosts) {
  std::vector<int> out;
  for (const Host& line : lines)
    for (size_t h = 0; h < hosts.size(); ++h)
      if (same_name(hosts[h].name, line.name))
        out.insert(out.end(), static_cast<size_t>(line.slots.value_or(1)), static_cast<int>(h));
  return out;
}

// For each program the hosts of its ranks, one by one. A program that names no hosts goes on where the last one
// without hosts has ended.
void deal_sequence(const RunOptions& run, const std::vector<std::vector<Host>>& named, const std::vector<Host>& lines,
                   Allocation& out) {
  const std::vector<int> all = sequence_of(lines, out.hosts);
  size_t begin = 0;
  for (size_t a = 0; a < run.apps.size(); ++a) {
    if (a < named.size() && !named[a].empty()) {
      out.sequences.push_back(sequence_of(named[a], out.hosts));
      continue;
    }
    const size_t left = all.size() - begin;
    const size_t count = std::min(left, static_cast<size_t>(run.apps[a].ranks.value_or(static_cast<int>(left))));
    out.sequences.emplace_back(all.begin() + static_cast<ptrdiff_t>(begin),
                               all.begin() + static_cast<ptrdiff_t>(begin + count));
    begin += count;
  }
}

// The host of each rank that a rankfile names, with one slot, and what it says of the rank's cores; empty without one.
Result<std::vector<Host>> hosts_of_rankfile(const RunOptions& run, const Pool& pool,
                                            std::vector<std::string>& rank_slots) {
  std::vector<Host> hosts;
  if (!run.map_by.starts_with("rankfile")) return hosts;
  Result<std::vector<RankLine>> lines = read_rankfile(run.rankfile);
  if (!lines) return std::move(lines).error();
  for (const RankLine& line : *lines) {
    Result<Host> host = host_of(line.host, pool);
    if (!host) return std::move(host).error().within("rankfile " + run.rankfile);
    hosts.push_back(std::move(*host));
    hosts.back().slots = 1;
    rank_slots.push_back(line.slots);
  }
  return hosts;
}

// What --host says, by program.
struct NamedHosts {
  std::vector<std::vector<Host>> each_once, mentioned;
  bool any() const {
    return std::ranges::any_of(each_once, [](const std::vector<Host>& hosts) { return !hosts.empty(); });
  }
};

Result<NamedHosts> named_hosts(const RunOptions& run, const Pool& pool) {
  NamedHosts named;
  for (const AppOptions& app : run.apps) {
    std::vector<Host>& once = named.each_once.emplace_back();
    std::vector<Host>& each = named.mentioned.emplace_back();
    for (const std::string& word : app.hosts) {
      Result<Host> host = host_of(word, pool);
      if (!host) return std::move(host).error().within("--host");
      each.push_back(*host);
      merge(once, std::move(*host));
    }
  }
  return named;
}

bool has_name(const std::vector<Host>& hosts, std::string_view name) {
  return std::ranges::any_of(hosts, [&](const Host& host) { return same_name(host.name, name); });
}

// The hosts that are named or, if none is, those of the hostfile or the allocation.
Result<std::vector<Host>> hosts_of_job(const NamedHosts& named, const Pool& pool) {
  if (!named.any()) return pool.hosts;
  std::vector<Host> out;
  for (const std::vector<Host>& hosts : named.each_once) {
    for (Host host : hosts) {
      const auto same = [&](const Host& h) { return same_name(h.name, host.name); };
      if (!pool.hosts.empty()) {
        const auto in_pool = std::ranges::find_if(pool.hosts, same);
        if (in_pool == pool.hosts.end())
          return failure(MPI_ERR_ARG, "--host {}: {} does not name it", host.name, pool.place);
        const std::optional<int> slots = host.slots;
        host = *in_pool;
        if (slots) host.slots = slots;
      } else if (!host.slots) {
        host.slots = 1;  // each mention is a slot, as users of other launchers expect
      }
      // Two programs that name a host share its slots.
      if (const auto known = std::ranges::find_if(out, same); known == out.end())
        out.push_back(host);
      else if (host.slots)
        known->slots = std::max(known->slots.value_or(0), *host.slots);
    }
  }
  return out;
}

// A program without hosts of its own may use all of them, the hostfile's too.
std::vector<std::vector<int>> hosts_by_program(const NamedHosts& named, const std::vector<Host>& hosts) {
  std::vector<std::vector<int>> out;
  for (const std::vector<Host>& own : named.each_once) {
    std::vector<int>& mine = out.emplace_back();
    for (size_t i = 0; i < hosts.size(); ++i)
      if (own.empty() || has_name(own, hosts[i].name)) mine.push_back(static_cast<int>(i));
  }
  return out;
}

// The host of each rank, where a file or the order of the hosts says it.
Error place_rank_by_rank(const RunOptions& run, const NamedHosts& named, const Pool& pool,
                         const std::vector<Host>& rank_hosts, Allocation& out) {
  if (run.map_by.starts_with("seq")) {
    deal_sequence(run, named.mentioned, pool.lines.empty() ? out.hosts : pool.lines, out);
    return {};
  }
  if (rank_hosts.empty()) return {};
  for (const Host& host : rank_hosts)
    if (!has_name(out.hosts, host.name))
      return failure(MPI_ERR_ARG, "rankfile {}: {} is none of the hosts of --host, the hostfile or the allocation",
                     run.rankfile, host.name);
  deal_sequence(run, {}, rank_hosts, out);
  return {};
}

}  // namespace

Result<Allocation> allocate(const RunOptions& run) {
  Allocation out;
  Result<std::optional<SlurmAllocation>> slurm = slurm_allocation(::getenv);
  if (!slurm) return std::move(slurm).error();
  std::optional<ScheduledJob> job;
  std::string warning;
  if (!*slurm) {
    Result<std::optional<ScheduledJob>> found = scheduled_job(::getenv, text_of_file, warning);
    if (!found) return std::move(found).error();
    job = std::move(*found);
  }
  Result<Pool> pool = pool_of(run, *slurm, job);
  if (!pool) return std::move(pool).error();
  if (*slurm) out.map_by = (*slurm)->map_by;
  if (*slurm && !(*slurm)->note.empty() && run.map_by.empty()) say(Level::note, "{}", (*slurm)->note);
  Result<std::vector<Host>> rank_hosts = hosts_of_rankfile(run, *pool, out.rank_slots);
  if (!rank_hosts) return std::move(rank_hosts).error();
  const bool any_host = std::ranges::any_of(run.apps, [](const AppOptions& app) { return !app.hosts.empty(); });
  if (!rank_hosts->empty() && !any_host && pool->hosts.empty()) {
    pool->place = "the rankfile " + run.rankfile;
    for (const Host& host : *rank_hosts) merge(pool->hosts, host);
  }
  Result<NamedHosts> named = named_hosts(run, *pool);
  if (!named) return std::move(named).error();
  Result<std::vector<Host>> hosts = hosts_of_job(*named, *pool);
  if (!hosts) return std::move(hosts).error();
  out.hosts = std::move(*hosts);
  if (out.hosts.empty()) {
    if (!warning.empty()) say(Level::warning, "{}", warning);
    out.hosts.push_back({own_name(), {}, true});
  }
  if (job && holds_all(*job, out.hosts)) out.remote_shell = job->remote_shell;
  if (job) out.scheduler = job->scheduler;
  out.within_slurm = *slurm && holds_all(**slurm, out.hosts);
  out.app_hosts = hosts_by_program(*named, out.hosts);
  if (Error e = place_rank_by_rank(run, *named, *pool, *rank_hosts, out)) return e;
  return out;
}

}  // namespace tutti::launcher
