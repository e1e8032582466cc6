// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/node/other_mpi.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

namespace tutti::launcher {
namespace {

struct Mark {
  std::string_view library;  // a file's name begins so
  const char* mpi;
};
constexpr const char *kOpenMpi = "Open MPI", *kMpich = "MPICH, Intel MPI or MVAPICH";
constexpr std::string_view kOpenMpiItself = "libmpi.so.40";
constexpr Mark kMarks[] = {
    {kOpenMpiItself, kOpenMpi},
    {"libmpi.so.20", kOpenMpi},
    {"libmpi_mpifh.so", kOpenMpi},
    {"libmpi_usempi", kOpenMpi},
    {"libmpi_cxx.so", kOpenMpi},
    {"libmpi.so.12", kMpich},
    {"libmpich.so", kMpich},
    {"libmpichcxx.so", kMpich},
    {"libmpichfort.so", kMpich},
    {"libmpichf90.so", kMpich},
    {"libmpicxx.so.12", kMpich},
    {"libmpifort.so.12", kMpich},
    {"libmpi_ibm.so", "IBM Spectrum MPI"},
    {"libmpi_cray.so", "HPE Cray MPICH"},
    {"libmpi_gnu_", "HPE Cray MPICH"},
};

// By these a launcher tells a process who it is: a process in which one has another value than in the rank has
// another launcher.
constexpr std::string_view kWordsOfLaunchers[] = {
    "PMIX_NAMESPACE",       "PMIX_RANK",    "PMI_RANK",       "PMI_FD",   "PMI_PORT", "PMI_ID",
    "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "FLUX_TASK_RANK", "TUTTI_JOB"};

constexpr std::chrono::milliseconds kTimes[] = {std::chrono::milliseconds(100), std::chrono::milliseconds(300),
                                                std::chrono::seconds(1), std::chrono::seconds(3)};
constexpr std::chrono::milliseconds kLongestLook{20};  // the loop has other things to do
constexpr size_t kMostProcesses = 200;                 // below one rank

std::string_view name_of_file(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

using Words = std::map<std::string_view, std::string>;

Words words_of_launcher(int pid) {
  Words out;
  std::ifstream file(fmt::format("/proc/{}/environ", pid), std::ios::binary);
  for (std::string pair; std::getline(file, pair, '\0');)
    for (const std::string_view word : kWordsOfLaunchers)
      if (pair.starts_with(word) && pair.size() > word.size() && pair[word.size()] == '=')
        out[word] = pair.substr(word.size() + 1);
  return out;
}

// One that lacks a word has lost it on the way, as behind env -i: that is no launcher's work.
bool has_another_launcher(const Words& rank, const Words& process) {
  return std::ranges::any_of(process, [&](const auto& word) {
    const auto known = rank.find(word.first);
    return known == rank.end() || known->second != word.second;
  });
}

std::vector<int> children_of(int pid) {
  std::vector<int> out;
  std::error_code problem;
  for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), problem)) {
    std::ifstream children(thread.path() / "children");
    for (int child; children >> child;) out.push_back(child);
  }
  return out;
}

// What the kernel tells of its memory would be waited for, as long as a file system does not answer it.
bool waits_for_disk(int pid) {
  const std::string stat = read_file(fmt::format("/proc/{}/stat", pid));
  const size_t end = stat.rfind(')');  // a program's name may hold anything
  return end != stat.npos && stat.compare(end, 3, ") D") == 0;
}

// Of one process. An Open MPI that joins does so when it calls MPI_Init, or says itself why it cannot.
std::optional<LoadedMpi> mapped_other_mpi(int pid, bool last) {
  MpiLibraries libraries;
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);)
    if (const size_t path = line.find('/'); path != line.npos) libraries.see(std::string_view(line).substr(path));
  if (!libraries.is_foreign() || libraries.joins_by_pmix() || (libraries.may_join_by_pmix() && !last))
    return std::nullopt;
  std::string program = read_file(fmt::format("/proc/{}/comm", pid));
  if (program.ends_with('\n')) program.pop_back();
  return LoadedMpi{std::move(program), std::string(name_of_file(libraries.library())), libraries.mpi()};
}

}  // namespace

void MpiLibraries::see(std::string_view file) {
  const std::string_view name = name_of_file(file);
  standard_ = standard_ || name.starts_with("libmpi_abi.so");
  pmix_ = pmix_ || name.starts_with("libpmix.so");
  own_runtime_ = own_runtime_ || name.starts_with("libopen-rte.so");
  open_mpi_ = open_mpi_ || name.starts_with(kOpenMpiItself);
  for (const Mark& mark : kMarks) {
    if (mpi_ || !name.starts_with(mark.library)) continue;
    mpi_ = mark.mpi;
    library_ = file;
  }
}

std::optional<LoadedMpi> loaded_other_mpi(int pid, std::chrono::steady_clock::time_point end, bool last) {
  if (waits_for_disk(pid)) return std::nullopt;
  const Words rank = words_of_launcher(pid);
  std::vector<int> processes{pid};
  for (size_t at = 0; at < processes.size() && at < kMostProcesses && std::chrono::steady_clock::now() < end; ++at) {
    if (waits_for_disk(processes[at])) continue;
    if (has_another_launcher(rank, words_of_launcher(processes[at]))) continue;
    if (std::optional<LoadedMpi> found = mapped_other_mpi(processes[at], last)) return found;
    const std::vector<int> children = children_of(processes[at]);
    processes.insert(processes.end(), children.begin(), children.end());
  }
  return std::nullopt;
}

OtherMpiLook::OtherMpiLook(Loop& loop, Processes processes, Tell tell)
    : loop_(loop), processes_(std::move(processes)), tell_(std::move(tell)), start_(std::chrono::steady_clock::now()) {
  wait();
}

void OtherMpiLook::wait() {
  if (looks_ == std::size(kTimes)) return;
  const auto left = start_ + kTimes[looks_++] - std::chrono::steady_clock::now();
  timer_ = loop_.after(std::max<std::chrono::nanoseconds>(left, std::chrono::nanoseconds(0)), [this] { look(); });
}

void OtherMpiLook::look() {
  const std::vector<int> processes = processes_();
  if (processes.empty()) return;
  const auto end = std::chrono::steady_clock::now() + kLongestLook;
  for (size_t i = 0; i < processes.size() && std::chrono::steady_clock::now() < end; ++i)
    if (const auto found = loaded_other_mpi(processes[first_++ % processes.size()], end, looks_ == std::size(kTimes)))
      return tell_(*found);
  wait();
}

}  // namespace tutti::launcher
