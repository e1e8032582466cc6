// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/node/crashes.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/os/elf_address.hpp"
#include "base/os/source_place.hpp"
#include "base/printable.hpp"
#include "base/ranks_text.hpp"

namespace tutti::launcher {
namespace {

namespace fs = std::filesystem;
using crash::Record;

constexpr size_t kShown = 10;  // frames

struct Found {
  int rank = 0;
  std::unique_ptr<Record> record;
};

// nullptr: not a whole record of this version.
std::unique_ptr<Record> read_record(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return nullptr;
  auto record = std::make_unique<Record>();
  struct stat about{};
  const bool whole =
      ::fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
      ::pread(fd, static_cast<void*>(record.get()), sizeof(Record), 0) == static_cast<ssize_t>(sizeof(Record));
  ::close(fd);
  if (!whole || std::memcmp(record->magic, crash::kMagic, sizeof crash::kMagic) != 0 || record->bytes != sizeof(Record))
    return nullptr;
  record->frames = std::clamp(record->frames, 0, crash::kFrames);
  record->paths[crash::kPaths - 1] = 0;
  record->comm.name[std::size(record->comm.name) - 1] = 0;
  return record;
}

std::vector<Found> read_records(const std::string& folder) {
  std::vector<Found> all;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(folder, problem)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(crash::kFilePrefix)) continue;
    const char *const begin = name.data() + std::strlen(crash::kFilePrefix), *const end = name.data() + name.size();
    Found found;
    if (std::from_chars(begin, end, found.rank).ptr != end) continue;
    if ((found.record = read_record(entry.path()))) all.push_back(std::move(found));
  }
  std::ranges::sort(all, {}, [](const Found& f) { return f.record->when; });
  return all;
}

// Waits for the first one to look at its stack, which another rank's end may be told of before, as long as its process is there.
// That takes it some milliseconds, and more where many crash on few processors.
std::vector<Found> settled_records(const std::string& folder) {
  constexpr std::chrono::milliseconds kPatience{400}, kPause{2};
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  std::vector<Found> all = read_records(folder);
  const auto is_writing = [&] {
    const Record& first = *all.front().record;
    return !first.is_whole && first.pid > 0 && ::kill(first.pid, 0) == 0;
  };
  while (!all.empty() && is_writing() && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(kPause);
    all = read_records(folder);
  }
  return all;
}

CodeAddress address_of(const Record& record, const crash::Place& place, Places places) {
  if (place.path < 0 || place.path >= crash::kPaths) return {};
  const std::string path = record.paths + place.path;
  return {path, places == Places::of_source ? address_at_file_offset(path, place.offset) : place.offset};
}

std::vector<std::string> places_in_files(const std::vector<CodeAddress>& addresses) {
  std::vector<std::string> out;
  for (const CodeAddress& each : addresses)
    out.push_back(each.module.empty() ? "an unknown place"
                                      : fmt::format("{:#x} of the file {}", each.offset, each.module));
  return out;
}

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// Their frames say little, but for the one that the program has called.
bool is_of_system(const std::string& module) {
  const std::string name = base_name(module);
  return std::ranges::any_of(
      std::initializer_list<const char*>{"libc.so", "libstdc++.so", "libgcc_s.so", "ld-linux", "libmpi_abi.so",
                                         "libmpifort_abi.so", "libucp.so", "libuct.so", "libucs.so", "libucm.so",
                                         "libpmix.so", "libgfortran.so"},
      [&](const char* known) { return name.starts_with(known); });
}

bool begins_program(const std::string& place) {
  return place.ends_with(", in main()") || place.ends_with("the main program") || place.starts_with("main()+");
}

// What is told of the frames: of what the system's libraries have called among themselves the outermost, and nothing of
// what comes before main().
struct Frame {
  CodeAddress address;
  bool of_system = false;
  std::string place = {};
};

// The program's own places come first, by a question of their own: large libraries may take longer than the answer to
// both is waited for. `call`: one more place.
std::vector<Frame> find_frames(const Record& record, Frame& call, Places how) {
  std::vector<Frame> all;
  for (int i = 0; i < record.frames; ++i)
    if (CodeAddress address = address_of(record, record.frame[i], how); !address.module.empty())
      all.push_back({std::move(address)});
  call.address = address_of(record, record.caller, how);
  std::vector<Frame> frames;
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].of_system = is_of_system(all[i].address.module);
    const bool is_inner = all[i].of_system && i + 1 < all.size() && is_of_system(all[i + 1].address.module);
    if (!is_inner) frames.push_back(std::move(all[i]));
  }
  const auto look_up = [&](bool of_system) {
    std::vector<Frame*> asked;
    std::vector<CodeAddress> addresses;
    for (Frame& frame : frames)
      if (frame.of_system == of_system) asked.push_back(&frame);
    if (!of_system) asked.push_back(&call);
    for (const Frame* frame : asked) addresses.push_back(frame->address);
    if (addresses.empty()) return;
    const std::vector<std::string> places =
        how == Places::of_source ? source_places(addresses) : places_in_files(addresses);
    for (size_t i = 0; i < asked.size(); ++i) asked[i]->place = places[i];
  };
  look_up(false);
  const auto first = std::ranges::find_if(frames, [](const Frame& f) { return begins_program(f.place); });
  if (first != frames.end()) frames.erase(first + 1, frames.end());
  look_up(true);
  return frames;
}

// A function that calls itself is one line.
std::vector<std::string> frame_lines(const std::vector<Frame>& frames) {
  std::vector<std::string> lines;
  std::string previous;
  size_t again = 0, left_out = 0;
  const auto say_again = [&] {
    if (again > 0) lines.back() += fmt::format(" (and {} more of it)", again);
    again = 0;
  };
  for (const Frame& frame : frames) {
    if (frame.place == previous) {
      ++again;
    } else if (lines.size() == kShown) {
      ++left_out;
    } else {
      say_again();
      lines.push_back(fmt::format("  {} {}", lines.empty() ? "at" : "called at", frame.place));
      previous = frame.place;
    }
  }
  if (!lines.empty()) say_again();
  if (left_out > 0) lines.push_back(fmt::format("  and {} more", left_out));
  return lines;
}

std::string call_line(const Record& record, const std::string& place) {
  const flight::CallRecord& call = record.call;
  if (call.number == 0 && record.looks == 0) return "";
  if (record.looks)
    return fmt::format("  outside of MPI; it had asked by {} at {}",
                       flight::name_of_function(static_cast<uint16_t>(record.looks_function)), place);
  std::string on;
  if (record.comm.context != 0)
    on = record.comm.name[0]
             ? fmt::format(" on {} ({})", record.comm.name, flight::ranks_text(record.comm))
             : fmt::format(" on {} of {}", flight::product_of(record.comm.function), flight::ranks_text(record.comm));
  const std::string text = flight::description(call) + on + " at " + place;
  if (record.of_another_thread)
    return fmt::format("  in a thread that has not called MPI; the latest call of others was {}", text);
  return call.state == flight::State::inside ? fmt::format("  in {}", text)
                                             : fmt::format("  outside of MPI; the latest call was {}", text);
}

}  // namespace

std::string cause_text(const Record& record) {
  const auto named = [&](const std::string& why) {
    const char* const name = ::strsignal(record.signal);
    return fmt::format("signal {} ({}){}", record.signal, name ? name : "", why.empty() ? "" : ": " + why);
  };
  if (record.code <= 0) {
    if (record.sender == record.pid)
      return named(record.signal == SIGABRT ? "it called abort()" : "it sent that to itself");
    return named(record.sender > 0 ? fmt::format("process {} sent it", record.sender) : "");
  }
  constexpr uint64_t kNear = 64 << 10;  // what a call may skip of the stack before it writes to it
  const std::string address = fmt::format("address {:#x}", record.address);
  switch (record.signal) {
    case SIGSEGV:
      if (record.address == record.pc) return named(fmt::format("it went to {}, where no code is", address));
      if (record.code == SI_KERNEL) return named("an address that no memory can have");
      if (record.address + kNear >= record.stack && record.address <= record.stack + kNear)
        return named(
            fmt::format("the stack is full, at {}: a recursion without end, or large local variables "
                        "(ulimit -s, OMP_STACKSIZE)",
                        address));
      return named(record.code == SEGV_MAPERR ? fmt::format("nothing is mapped at {}", address)
                                              : fmt::format("it may not do that at {}", address));
    case SIGBUS:
      return named(record.code == BUS_ADRALN ? fmt::format("{} is not aligned", address)
                   : record.code == BUS_ADRERR
                       ? fmt::format("there is no memory behind {}: a file that is mapped has become shorter, or its "
                                     "file system (such as /dev/shm) is full",
                                     address)
                       : address);
    case SIGFPE:
      return named(record.code == FPE_INTDIV   ? "integer division by zero"
                   : record.code == FPE_INTOVF ? "integer overflow"
                   : record.code == FPE_FLTDIV ? "division by zero"
                   : record.code == FPE_FLTOVF ? "overflow"
                   : record.code == FPE_FLTUND ? "underflow"
                   : record.code == FPE_FLTINV ? "an invalid operation"
                                               : "");
    default:
      return named("");
  }
}

std::optional<Crash> find_crash(const std::string& folder, int rank, const std::string& node, Places places) {
  const std::vector<Found> all = places == Places::of_source ? settled_records(folder) : read_records(folder);
  if (std::ranges::none_of(all, [&](const Found& f) { return f.rank == rank; })) return std::nullopt;
  const Record& record = *all.front().record;
  Frame caller;
  const std::vector<Frame> frames = find_frames(record, caller, places);
  std::string text =
      fmt::format("rank {} on {} (process {}) crashed: {}", all.front().rank, node, record.pid, cause_text(record));
  for (const std::string& line : frame_lines(frames)) text += "\n" + line;
  if (const std::string call = call_line(record, caller.place); !call.empty()) text += "\n" + call;
  std::vector<int> others;
  for (size_t i = 1; i < all.size(); ++i) others.push_back(all[i].rank);
  std::ranges::sort(others);
  if (!others.empty()) text += fmt::format("\n  {} crashed after it", ranks_text(others));
  return Crash{all.front().rank, printable(text, "\n")};
}

}  // namespace tutti::launcher
