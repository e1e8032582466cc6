// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/source_place.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/config.hpp"
#include "base/os/elf_address.hpp"

extern char** environ;

namespace tutti {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kPatience{2};

struct Search {
  uint64_t address;
  CodeAddress found;
};

int look_into(dl_phdr_info* info, size_t, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    const uint64_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || search.address < begin || search.address >= begin + segment.p_memsz) continue;
    std::error_code problem;
    search.found.module =
        *info->dlpi_name ? std::string(info->dlpi_name) : fs::read_symlink("/proc/self/exe", problem).string();
    search.found.offset = search.address - info->dlpi_addr;
    return 1;
  }
  return 0;
}

std::string bare(const CodeAddress& address) {
  if (address.module.empty()) return "an unknown place";
  return fmt::format("{}+{:#x}", fs::path(address.module).filename().string(), address.offset);
}

// Everything that the helper says before its time is over.
std::string ask_helper(std::span<const CodeAddress> addresses) {
  std::vector<std::string> words{where_program()};
  for (const CodeAddress& a : addresses) {
    words.push_back(a.module);
    words.push_back(fmt::format("{:#x}", a.offset));
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const int problem = posix_spawn(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string said;
  if (problem == 0) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    for (char chunk[4096];;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      pollfd ready{ends[0], POLLIN, 0};
      if (left.count() <= 0) break;
      // The launcher hears of its children's ends by a signal, and of this one's as well.
      const int readable = ::poll(&ready, 1, static_cast<int>(left.count()));
      if (readable < 0 && errno == EINTR) continue;
      if (readable <= 0) break;
      const ssize_t n = ::read(ends[0], chunk, sizeof chunk);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      said.append(chunk, static_cast<size_t>(n));
    }
    ::kill(child, SIGKILL);
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  ::close(ends[0]);
  return said;
}

}  // namespace

CodeAddress code_address(uint64_t return_address) {
  // The call is the instruction before the one that it returns to.
  Search search{return_address - 1, {}};
  if (return_address != 0) dl_iterate_phdr(look_into, &search);
  return search.found;
}

CodeAddress code_address_in(int pid, uint64_t return_address) {
  const uint64_t address = return_address - 1;
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; return_address != 0 && std::getline(maps, line);) {
    unsigned long begin = 0, end = 0, offset = 0;
    int path = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx %*s %*s %n", &begin, &end, &offset, &path) < 3 || address < begin ||
        address >= end || path == 0)
      continue;
    const std::string module = line.substr(static_cast<size_t>(path));
    if (!module.starts_with('/')) return {};
    return {module, address_at_file_offset(module, address - begin + offset)};
  }
  return {};
}

std::string where_program() {
  return installation_root() / "libexec" / "tutti" / "tutti-where";
}

std::vector<std::string> source_places(std::span<const CodeAddress> addresses) {
  std::vector<std::string> places;
  for (const CodeAddress& address : addresses) places.push_back(bare(address));
  const std::string said = ask_helper(addresses);
  size_t at = 0;
  for (std::string& place : places) {
    const size_t end = said.find('\n', at);
    if (end == said.npos) break;
    if (end > at) place = said.substr(at, end - at);
    at = end + 1;
  }
  return places;
}

}  // namespace tutti
