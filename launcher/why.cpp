// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/why.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "base/log.hpp"
#include "base/source_place.hpp"

namespace tutti::launcher {
namespace {

namespace fs = std::filesystem;
using flight::Record;
using flight::State;

constexpr int kLatest = 3;  // calls that are shown of an odd one

// A record of another process, mapped for reading.
class Mapped {
 public:
  explicit Mapped(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    struct stat about;
    if (::fstat(fd, &about) == 0 && about.st_size == sizeof(Record)) {
      memory_ = ::mmap(nullptr, sizeof(Record), PROT_READ, MAP_SHARED, fd, 0);
      if (memory_ == MAP_FAILED) memory_ = nullptr;
    }
    ::close(fd);
  }
  ~Mapped() {
    if (memory_) ::munmap(memory_, sizeof(Record));
  }
  Mapped(const Mapped&) = delete;

  // nullptr: not a record, of another version of Tutti, or inherited by a child.
  const Record* of(int pid) const {
    const auto* record = static_cast<const Record*>(memory_);
    const bool good = record &&
                      std::memcmp(record->magic, flight::kMagic, sizeof record->magic) == 0 &&
                      record->bytes == sizeof(Record) && record->pid == pid;
    return good ? record : nullptr;
  }

 private:
  void* memory_ = nullptr;
};

// Paths below /proc that may be records, with the process of each.
std::vector<std::pair<int, std::string>> find_records() {
  std::vector<std::pair<int, std::string>> found;
  std::error_code problem;
  for (const auto& process : fs::directory_iterator("/proc", problem)) {
    const std::string name = process.path().filename();
    int pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr !=
        name.data() + name.size())
      continue;
    struct stat about;
    if (::stat(process.path().c_str(), &about) != 0 ||
        (about.st_uid != ::getuid() && ::getuid() != 0))
      continue;
    std::error_code gone;
    for (fs::directory_iterator at(process.path() / "fd", gone), end; !gone && at != end;
         at.increment(gone)) {
      std::error_code closed;
      if (fs::read_symlink(at->path(), closed)
              .string()
              .starts_with(fmt::format("/memfd:{}", flight::kMemoryName)))
        found.emplace_back(pid, at->path());
    }
  }
  return found;
}

char process_state(int pid) {
  std::ifstream in(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(in, line);
  const size_t end = line.rfind(')');
  return end != line.npos && end + 2 < line.size() ? line[end + 2] : '?';
}

std::string comm_text(const Record& record, uint64_t context) {
  const flight::Comm* comm = flight::find_comm(record, context);
  if (!comm) return "";
  const std::string ranks = fmt::format("{} {}", comm->size, comm->size == 1 ? "rank" : "ranks");
  if (comm->name[0]) return fmt::format("{} ({})", comm->name, ranks);
  const flight::Comm* parent = flight::find_comm(record, comm->parent);
  return fmt::format("a communicator of {} made by {}{}", ranks,
                     flight::name_of_function(comm->function),
                     parent && parent->name[0] ? fmt::format(" from {}", parent->name) : "");
}

// The thread to show: one in a call, the longest there; else the one that called last.
const flight::Thread* thread_of(const Record& record) {
  const flight::Thread* chosen = nullptr;
  const auto weight = [](const flight::Thread& t) {
    return std::pair(t.now.state == State::inside, t.now.number);
  };
  for (const flight::Thread& thread : record.threads)
    if (thread.used && (!chosen || weight(*chosen) < weight(thread))) chosen = &thread;
  return chosen;
}

// The addresses whose places a view needs, in this order: of what it does, of what is shown of its
// latest calls, of the collective ones.
RankView view_of(const Record& record, std::vector<CodeAddress>& addresses) {
  RankView view;
  view.job = record.job;
  view.host = record.host;
  view.program = record.program;
  view.rank = record.rank;
  view.size = record.size;
  view.pid = record.pid;
  view.process_state = process_state(record.pid);
  view.finalized = record.phase.load(std::memory_order_relaxed) == 2;

  std::vector<flight::Call> calls(flight::kCalls);
  calls.resize(static_cast<size_t>(flight::latest_calls(record, calls.data(), flight::kCalls)));
  for (const flight::Call& call : calls)
    if (call.serial) view.collectives.push_back(call);

  const auto address = [&](uint64_t caller) {
    addresses.push_back(code_address_in(record.pid, caller));
  };
  const flight::Thread* thread = thread_of(record);
  flight::Call now = thread ? thread->now : flight::Call{};
  if (thread) {
    view.inside = now.state == State::inside;
    view.looks = !view.inside && thread->looks > 0;
    if (view.inside && now.serial) view.collectives.push_back(now);
    uint64_t stamp = now.stamp;
    if (!view.inside)
      for (const flight::Call& call : calls) stamp = std::max(stamp, call.stamp);
    const double seconds = flight::seconds_since(record, stamp);
    view.milliseconds = seconds < 0 ? -1 : static_cast<int64_t>(seconds * 1e3);
    view.call = view.looks   ? std::string(flight::name_of_function(thread->looks_function))
                : now.number ? flight::description(now)
                             : "";
    view.communicator = view.looks ? "" : comm_text(record, now.context);
    view.waits_for_count = view.inside ? thread->waits_for_count : 0;
    for (int i = 0; i < std::min(view.waits_for_count, flight::kWaitsFor); ++i)
      view.waits_for.push_back(thread->waits_for[i]);
  }
  address(view.looks ? thread->looks_caller : now.caller);
  size_t shown = 0;
  for (size_t i = calls.size(); i > 0 && shown < kLatest; --i, ++shown) {
    view.latest.push_back(flight::description(calls[i - 1]));
    address(calls[i - 1].caller);
  }
  for (const flight::Call& call : view.collectives) address(call.caller);
  return view;
}

std::string ranks_text(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (i > 0) text += ", ";
    text +=
        end - i > 2 ? fmt::format("{} to {}", ranks[i], ranks[end - 1]) : std::to_string(ranks[i]);
    i = end - i > 2 ? end : i + 1;
  }
  return text;
}

std::string seconds_text(double seconds) {
  return seconds < 120 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
}

// What ranks of one group have in common.
std::string doing(const RankView& view) {
  const std::string where = view.communicator.empty() ? "" : " on " + view.communicator;
  const std::string stopped =
      view.process_state == 'T' || view.process_state == 't' ? "stopped; " : "";
  if (view.finalized) return stopped + "behind MPI_Finalize";
  if (view.inside)
    return fmt::format("{}in {}{}, called at {}", stopped, view.call, where, view.place);
  if (view.looks)
    return fmt::format("{}asks again and again by {} at {}", stopped, view.call, view.place);
  if (view.call.empty()) return stopped + "outside of MPI, without a call yet";
  return fmt::format("{}outside of MPI; the latest call was {}{} at {}", stopped, view.call, where,
                     view.place);
}

struct Group {
  std::string what;
  std::vector<const RankView*> members;
  std::vector<int> ranks() const {
    std::vector<int> out;
    for (const RankView* member : members) out.push_back(member->rank);
    return out;
  }
};

std::string group_text(const Group& group, bool odd) {
  double least = 1e99, most = -1;
  std::vector<int> awaited;
  for (const RankView* member : group.members) {
    const double seconds = static_cast<double>(member->milliseconds) / 1e3;
    if (seconds >= 0) least = std::min(least, seconds);
    most = std::max(most, seconds);
    awaited.insert(awaited.end(), member->waits_for.begin(), member->waits_for.end());
  }
  std::ranges::sort(awaited);
  awaited.erase(std::unique(awaited.begin(), awaited.end()), awaited.end());
  std::string text = fmt::format("  {}: {}", ranks_text(group.ranks()), group.what);
  if (most >= 0) {
    const std::string range =
        most - least > 0.5 ? seconds_text(least) + " to " + seconds_text(most) : seconds_text(most);
    text += group.members[0]->inside ? fmt::format(", for {}", range)
                                     : fmt::format(", less than {} ago", range);
  }
  if (!awaited.empty()) text += fmt::format("; waiting for {}", ranks_text(awaited));
  text += '\n';
  if (!odd) return text;
  for (const std::string& call : group.members[0]->latest)
    text += fmt::format("      before: {}\n", call);
  return text;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + '"';
}

}  // namespace

std::vector<RankView> look_at_ranks(const std::string& job) {
  std::vector<RankView> views;
  std::vector<CodeAddress> addresses;
  for (const auto& [pid, path] : find_records()) {
    const Mapped mapped(path);
    const Record* record = mapped.of(pid);
    if (record &&
        (job.empty() || std::string_view(record->job).find(job) != std::string_view::npos))
      views.push_back(view_of(*record, addresses));
  }
  const std::vector<std::string> places = source_places(addresses);
  size_t next = 0;
  for (RankView& view : views) {
    view.place = places[next++];
    for (std::string& call : view.latest) call += " at " + places[next++];
    for (size_t i = 0; i < view.collectives.size(); ++i) view.places.push_back(places[next++]);
  }
  std::ranges::sort(views, [](const RankView& a, const RankView& b) {
    return std::tie(a.job, a.rank) < std::tie(b.job, b.rank);
  });
  return views;
}

std::string why_text(const std::vector<RankView>& ranks) {
  std::string text;
  for (size_t begin = 0; begin < ranks.size();) {
    size_t end = begin;
    std::vector<Group> groups;
    for (; end < ranks.size() && ranks[end].job == ranks[begin].job; ++end) {
      const std::string what = doing(ranks[end]);
      const auto same = std::ranges::find(groups, what, &Group::what);
      if (same == groups.end())
        groups.push_back({what, {&ranks[end]}});
      else
        same->members.push_back(&ranks[end]);
    }
    std::ranges::stable_sort(
        groups, [](const Group& a, const Group& b) { return a.members.size() > b.members.size(); });
    const int size = ranks[begin].size, seen = static_cast<int>(end - begin);
    text += fmt::format("job {}: {}, {} of its {} ranks {}\n", ranks[begin].job,
                        ranks[begin].program, seen == size ? "all" : std::to_string(seen), size,
                        seen == size ? "are seen" : "are seen from here");
    // The many do what is expected; a rank or two that do something else are what to look at.
    const size_t many = groups[0].members.size();
    for (const Group& group : groups)
      text += group_text(
          group, groups.size() > 1 && group.members.size() * 2 <= many + 1 && &group != &groups[0]);
    if (groups.size() > 1 && many > 1) {
      std::vector<int> odd;
      for (const Group& group : groups)
        if (&group != &groups[0] && group.members.size() < many)
          for (const int rank : group.ranks()) odd.push_back(rank);
      std::ranges::sort(odd);
      if (!odd.empty()) text += fmt::format("  unlike most: {}\n", ranks_text(odd));
    }
    begin = end;
  }
  return text;
}

std::string why_json(const std::vector<RankView>& ranks) {
  std::string text = "[";
  for (const RankView& r : ranks) {
    std::string awaited, latest;
    for (const int rank : r.waits_for)
      awaited += fmt::format("{}{}", awaited.empty() ? "" : ",", rank);
    for (const std::string& call : r.latest)
      latest += fmt::format("{}{}", latest.empty() ? "" : ",", quoted(call));
    text += fmt::format(
        "{}\n "
        "{{\"job\":{},\"rank\":{},\"size\":{},\"host\":{},\"pid\":{},\"program\":{},\"process_"
        "state\":\"{}\","
        "\"state\":\"{}\",\"call\":{},\"place\":{},\"communicator\":{},\"milliseconds\":{},\"waits_"
        "for\":[{}],"
        "\"latest\":[{}]}}",
        text.size() > 1 ? "," : "", quoted(r.job), r.rank, r.size, quoted(r.host), r.pid,
        quoted(r.program), r.process_state,
        r.finalized ? "finalized"
        : r.inside  ? "inside"
        : r.looks   ? "asking"
                    : "outside",
        quoted(r.call), quoted(r.place), quoted(r.communicator), r.milliseconds, awaited, latest);
  }
  return text + "\n]\n";
}

std::string compare_records(const RankView& a, const RankView& b) {
  std::map<std::pair<uint64_t, uint32_t>, size_t> of_b;
  for (size_t i = 0; i < b.collectives.size(); ++i)
    of_b.emplace(std::pair(b.collectives[i].context, b.collectives[i].serial), i);
  int same = 0;
  std::map<uint64_t, uint32_t> last_of_a, last_of_b;
  for (const flight::Call& call : b.collectives) last_of_b[call.context] = call.serial;
  for (size_t i = 0; i < a.collectives.size(); ++i) {
    const flight::Call& call = a.collectives[i];
    last_of_a[call.context] = call.serial;
    const auto other = of_b.find({call.context, call.serial});
    if (other == of_b.end()) continue;
    const std::string mine = flight::description(call),
                      theirs = flight::description(b.collectives[other->second]);
    if (call.function != b.collectives[other->second].function ||
        (call.peer_is == flight::PeerIs::root && call.peer != b.collectives[other->second].peer))
      return fmt::format(
          "the records differ from call {} on one communicator on:\n  rank {}: {} at {}\n"
          "  rank {}: {} at {}\n",
          call.serial, a.rank, mine, a.places[i], b.rank, theirs, b.places[other->second]);
    ++same;
  }
  std::string text = fmt::format("the {} collective calls that both records hold agree\n", same);
  for (const auto& [context, serial] : last_of_a) {
    const auto other = last_of_b.find(context);
    if (other == last_of_b.end() || other->second == serial) continue;
    const bool behind = serial < other->second;
    text += fmt::format("  rank {} is {} call{} behind rank {} on one communicator\n",
                        behind ? a.rank : b.rank,
                        behind ? other->second - serial : serial - other->second,
                        (behind ? other->second - serial : serial - other->second) == 1 ? "" : "s",
                        behind ? b.rank : a.rank);
  }
  return text;
}

int why_command(const std::vector<std::string>& arguments) {
  bool json = false;
  std::string job;
  std::vector<int> pair;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--json") {
      json = true;
    } else if (word == "--record") {
      for (int n = 0; n < 2; ++n) {
        int rank = -1;
        if (i + 1 >= arguments.size() || std::sscanf(arguments[++i].c_str(), "%d", &rank) != 1 ||
            rank < 0) {
          say(Level::error, "--record takes two ranks; try: tutti why --record 0 3");
          return 2;
        }
        pair.push_back(rank);
      }
    } else if (word == "--help" || word == "-h") {
      std::fputs(
          "Usage: tutti why [--json] [--record A B] [JOB]\n"
          "Prints what the ranks of your running jobs are doing, or of JOB alone.\n",
          stdout);
      return 0;
    } else if (word.starts_with("-") || !job.empty()) {
      say(Level::error, "tutti why takes --json, --record A B and one job, not '{}'", word);
      return 2;
    } else {
      job = word;
    }
  }
  const std::vector<RankView> ranks = look_at_ranks(job);
  if (ranks.empty()) {
    say(Level::error, "no rank of {} runs on this node, unless with --check=off",
        job.empty() ? "yours" : "job " + job);
    return 1;
  }
  if (pair.empty()) {
    std::fputs((json ? why_json(ranks) : why_text(ranks)).c_str(), stdout);
    return 0;
  }
  const RankView* chosen[2] = {};
  for (int n = 0; n < 2; ++n)
    for (const RankView& view : ranks)
      if (view.rank == pair[static_cast<size_t>(n)] && view.job == ranks[0].job) chosen[n] = &view;
  if (!chosen[0] || !chosen[1]) {
    say(Level::error, "job {} has no rank {} on this node", ranks[0].job, pair[chosen[0] ? 1 : 0]);
    return 1;
  }
  std::fputs(compare_records(*chosen[0], *chosen[1]).c_str(), stdout);
  return 0;
}

}  // namespace tutti::launcher
