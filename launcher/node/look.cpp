// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/node/look.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <sstream>
#include <tuple>

#include "base/flight_files.hpp"
#include "base/os/source_place.hpp"
#include "base/printable.hpp"
#include "launcher/data/job_map.hpp"
#include "launcher/node/call_bytes.hpp"
#include "launcher/node/process_state.hpp"

namespace tutti::launcher {
namespace {

namespace fs = std::filesystem;
using flight::Record;
using flight::State;

constexpr size_t kLatest = 3;  // calls that are shown of an odd one

// A copy of another process's record: whoever writes it can neither change nor cut it under us.
class Copied {
 public:
  // Of the file that process `pid` has at `path` below /proc.
  Copied(const std::string& path, int pid) {
    struct stat about;
    // Judged before it is opened: a pipe or a device of that name would want more than to be read.
    if (::stat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return;
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return;
    Record& copy = *new (memory_) Record;
    // The process may be somebody else's by now, or pass on what it was given: the memory is ours.
    good_ = ::fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == ::geteuid() &&
            about.st_size == static_cast<off_t>(flight::kMemoryBytes) &&
            ::pread(fd, memory_, sizeof(Record), 0) == sizeof(Record) &&
            ::pread(fd, &files_, sizeof files_, flight::kFileRecordAt) == sizeof files_ && flight::make_sound(copy) &&
            copy.pid == pid;
    ::close(fd);
    flight::make_sound(files_);
  }
  // nullptr: not a record of ours, of another version of Tutti, or inherited by a child.
  const Record* get() const { return good_ ? std::launder(reinterpret_cast<const Record*>(memory_)) : nullptr; }
  const flight::FileRecord& files() const { return files_; }

 private:
  flight::FileRecord files_;
  alignas(Record) std::byte memory_[sizeof(Record)];
  bool good_ = false;
};

// Paths below /proc that may be records, with the process of each. What root may read it reads of
// its own processes alone, too: others can write what they like into theirs.
std::vector<std::pair<int, std::string>> find_records() {
  std::vector<std::pair<int, std::string>> found;
  std::error_code problem;
  for (const auto& process : fs::directory_iterator("/proc", problem)) {
    const std::string name = process.path().filename();
    int pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size()) continue;
    struct stat about;
    if (::stat(process.path().c_str(), &about) != 0 || about.st_uid != ::geteuid()) continue;
    std::error_code gone;
    for (fs::directory_iterator at(process.path() / "fd", gone), end; !gone && at != end; at.increment(gone)) {
      std::error_code closed;
      if (fs::read_symlink(at->path(), closed).string().starts_with(fmt::format("/memfd:{}", flight::kMemoryName)))
        found.emplace_back(pid, at->path());
    }
  }
  return found;
}

std::string comm_text(const Record& record, uint64_t context) {
  const auto comm = flight::find_comm(record, context);
  if (!comm) return "";
  const std::string ranks = flight::ranks_text(*comm);
  if (comm->name[0]) return fmt::format("{} ({})", comm->name, ranks);
  const auto parent = flight::find_comm(record, comm->parent);
  return fmt::format("{} of {} made by {}{}", flight::product_of(comm->function), ranks,
                     flight::name_of_function(comm->function),
                     parent && parent->name[0] ? fmt::format(" from {}", parent->name) : "");
}

// The thread to show: one in a call, the longest there; else the one that called last.
const flight::Thread* thread_of(const Record& record) {
  const flight::Thread* chosen = nullptr;
  const auto weight = [](const flight::Thread& t) { return std::pair(t.inside, t.number); };
  for (const flight::Thread& thread : record.threads)
    if (thread.used && (!chosen || weight(*chosen) < weight(thread))) chosen = &thread;
  return chosen;
}

// How long it has been in its call, or since its latest returned. The clock is not read at every
// call: otherwise what is known is when one began that has returned since.
void measure(const Record& record, const flight::CallRecord& now, const std::vector<flight::CallRecord>& calls,
             RankView& view) {
  uint64_t stamp = now.stamp;
  if (!view.inside) {
    for (const flight::Thread& each : record.threads)
      if (each.used) stamp = std::max(stamp, each.returned);
    for (const flight::CallRecord& call : calls) stamp = std::max(stamp, call.stamp);
    view.exact = now.stamp != 0 && !view.looks;
  }
  if (now.number == 0) stamp = record.stamp;
  const double seconds = flight::seconds_since(record, stamp);
  view.milliseconds = seconds < 0 ? -1 : static_cast<int64_t>(seconds * 1e3);
}

// What the thread does, or did last.
void describe(const Record& record, const flight::Thread& thread, const flight::CallRecord& now, RankView& view) {
  view.call = view.looks   ? std::string(flight::name_of_function(thread.looks_function))
              : now.number ? flight::description(now)
                           : "";
  view.communicator = view.looks ? "" : comm_text(record, now.context);
  view.waits_for_count = view.inside ? thread.waits_for_count : 0;
  if (view.waits_for_count == 0) return;
  view.waits_for_some = thread.waits_for_some;
  for (int i = 0; i < std::min(view.waits_for_count - thread.elsewhere_count, flight::kWaitsFor); ++i)
    view.waits_for.push_back(thread.waits_for[i]);
  for (int i = 0; i < thread.elsewhere_count; ++i)
    view.waits_elsewhere.push_back({thread.elsewhere[i].job, thread.elsewhere[i].rank});
}

// The addresses whose places a view needs, in this order: of what it does, of what is shown of its
// latest calls, of the collective ones.
RankView view_of(const Record& record, const flight::FileRecord& files, bool with_collectives,
                 std::vector<CodeAddress>& addresses) {
  RankView view;
  view.file = flight::file_calls_text(files);
  view.job = record.job;
  view.job_number = record.job_number;
  view.host = record.host;
  view.program = record.program;
  view.launcher = variable_of_process(record.pid, kLauncherVariable);
  view.rank = record.rank;
  view.size = record.size;
  view.pid = record.pid;
  const int32_t phase = record.phase.load(std::memory_order_relaxed);
  view.finalized = phase == flight::kFinalized;
  view.awaits_debugger = phase == flight::kAwaitsDebugger;

  std::vector<flight::CallRecord> calls(flight::kCalls);
  calls.resize(static_cast<size_t>(flight::latest_calls(record, calls.data(), flight::kCalls)));
  view.calls = static_cast<int64_t>(record.calls.load(std::memory_order_relaxed));
  view.bytes_a_call = bytes_a_call(calls);
  const flight::Thread* chosen = thread_of(record);
  const flight::Thread thread = chosen ? *chosen : flight::Thread{};
  const flight::CallRecord now = chosen ? flight::latest_call(record, *chosen) : flight::CallRecord{};
  view.inside = now.state == State::inside;
  view.looks = !view.inside && thread.looks > 0;
  measure(record, now, calls, view);
  describe(record, thread, now, view);
  const KernelState kernel = kernel_state(record.pid, thread.id);
  view.process_state = kernel.state;
  view.kernel = kernel.doing;

  const auto address = [&](uint64_t caller) { addresses.push_back(code_address_in(record.pid, caller)); };
  address(view.looks ? thread.looks_caller : now.caller);
  size_t shown = 0;
  for (size_t i = calls.size(); i > 0 && shown < kLatest; --i, ++shown) {
    view.latest.push_back(flight::description(calls[i - 1]));
    address(calls[i - 1].caller);
  }
  if (!with_collectives) return view;
  if (view.inside) calls.push_back(now);
  for (const flight::CallRecord& call : calls) {
    if (call.serial == 0) continue;
    view.collectives.push_back({call, "", comm_text(record, call.context)});
    address(call.caller);
  }
  return view;
}

}  // namespace

void make_printable(RankView& view) {
  for (std::string* text : {&view.job, &view.host, &view.program, &view.launcher, &view.kernel, &view.call, &view.place,
                            &view.communicator, &view.file})
    *text = printable(*text);
  if (!std::isalpha(static_cast<unsigned char>(view.process_state))) view.process_state = '?';
  for (std::string& call : view.latest) call = printable(call);
  for (CollectiveView& each : view.collectives) {
    each.place = printable(each.place);
    each.communicator = printable(each.communicator);
  }
}

void make_printable(RankGroup& group) {
  make_printable(group.first);
  group.what = printable(group.what);
  for (std::string& host : group.hosts) host = printable(host);
  for (FileCalls& calls : group.files) calls.text = printable(calls.text);
}

std::vector<RankView> look_at_ranks(const std::string& job, const std::vector<int>& records_of) {
  std::vector<RankView> views;
  std::vector<CodeAddress> addresses;
  for (const auto& [pid, path] : find_records()) {
    const auto copied = std::make_unique<Copied>(path, pid);
    const Record* record = copied->get();
    if (record && (job.empty() || std::string_view(record->job).find(job) != std::string_view::npos))
      views.push_back(view_of(*record, copied->files(), std::ranges::count(records_of, record->rank) > 0, addresses));
  }
  const std::vector<std::string> places = source_places(addresses);
  size_t next = 0;
  for (RankView& view : views) {
    view.place = places[next++];
    for (std::string& call : view.latest) call += " at " + places[next++];
    for (CollectiveView& each : view.collectives) each.place = places[next++];
    make_printable(view);
  }
  std::ranges::sort(
      views, [](const RankView& a, const RankView& b) { return std::tie(a.job, a.rank) < std::tie(b.job, b.rank); });
  return views;
}

}  // namespace tutti::launcher
