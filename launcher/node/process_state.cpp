// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/node/process_state.hpp"

#include <fmt/core.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace tutti::launcher {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostEnvironment = 1 << 20;

struct SystemCall {
  long number;
  const char* name;
  bool of_file;  // the first argument is a descriptor
};

// Those that block, as far as this machine has them.
constexpr SystemCall kSystemCalls[] = {
    {SYS_read, "read", true},
    {SYS_write, "write", true},
    {SYS_readv, "readv", true},
    {SYS_writev, "writev", true},
    {SYS_pread64, "pread", true},
    {SYS_pwrite64, "pwrite", true},
    {SYS_fsync, "fsync", true},
    {SYS_fdatasync, "fdatasync", true},
    {SYS_flock, "flock", true},
    {SYS_fcntl, "fcntl", true},
    {SYS_ioctl, "ioctl", true},
    {SYS_sendfile, "sendfile", false},
    {SYS_splice, "splice", false},
    {SYS_connect, "connect", true},
    {SYS_accept, "accept", true},
    {SYS_accept4, "accept", true},
    {SYS_recvfrom, "recv", true},
    {SYS_recvmsg, "recvmsg", true},
    {SYS_sendto, "send", true},
    {SYS_sendmsg, "sendmsg", true},
    {SYS_openat, "open", false},
    {SYS_execve, "execve", false},
    {SYS_chdir, "chdir", false},
    {SYS_close, "close", true},
    {SYS_ppoll, "poll", false},
    {SYS_pselect6, "select", false},
    {SYS_epoll_pwait, "epoll_wait", false},
    {SYS_nanosleep, "nanosleep", false},
    {SYS_clock_nanosleep, "clock_nanosleep", false},
    {SYS_futex, "futex (a lock, or another thread)", false},
    {SYS_wait4, "waitpid", false},
    {SYS_waitid, "waitid", false},
    {SYS_rt_sigtimedwait, "sigwait", false},
    {SYS_rt_sigsuspend, "sigsuspend", false},
    {SYS_semtimedop, "semop", false},
    {SYS_msync, "msync", false},
#ifdef SYS_poll
    {SYS_poll, "poll", false},
    {SYS_select, "select", false},
    {SYS_epoll_wait, "epoll_wait", false},
    {SYS_pause, "pause", false},
    {SYS_open, "open", false},
#endif
};

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string file_text(int process, unsigned long descriptor) {
  std::error_code problem;
  const fs::path file = fs::read_symlink(fmt::format("/proc/{}/fd/{}", process, descriptor), problem);
  return file.empty() ? "" : " of " + file.string();
}

// The call that a sleeping thread is in, such as "read of pipe:[7]"; empty: the kernel keeps it.
std::string system_call(int process, const std::string& thread) {
  const std::string line = first_line(thread + "/syscall");
  char* end = nullptr;
  const long number = std::strtol(line.c_str(), &end, 10);
  if (end != line.c_str() && number >= 0) {
    const unsigned long first = std::strtoul(end, nullptr, 16);
    for (const SystemCall& call : kSystemCalls)
      if (call.number == number) return call.name + (call.of_file ? file_text(process, first) : "");
    return fmt::format("system call {}", number);
  }
  const std::string function = first_line(thread + "/wchan");
  return function.empty() || function == "0" ? "" : "the kernel's " + function;
}

}  // namespace

KernelState kernel_state(int process, int thread) {
  const std::string folder = fmt::format("/proc/{}/task/{}", process, thread ? thread : process);
  const std::string line = first_line(folder + "/stat");
  const size_t end = line.rfind(')');  // of the name, which may hold anything
  KernelState out;
  if (end != line.npos && end + 2 < line.size()) out.state = line[end + 2];
  switch (out.state) {
    case 'R':
      out.doing = "running";
      break;
    case 'S':
    case 'D': {
      const std::string call = system_call(process, folder);
      out.doing = (out.state == 'D' ? "asleep beyond signals" : "asleep") + (call.empty() ? "" : " in " + call);
      break;
    }
    case 'T':
      out.doing = "stopped";
      break;
    case 't':
      out.doing = "stopped by a debugger";
      break;
    case 'Z':
    case 'X':
      out.doing = "dead";
      break;
    default:
      break;
  }
  return out;
}

std::string variable_of_process(int process, const std::string& name) {
  std::ifstream environ(fmt::format("/proc/{}/environ", process), std::ios::binary);
  std::string bytes(kMostEnvironment, 0);
  environ.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(environ.gcount()));
  std::istringstream entries(bytes);
  for (std::string entry; std::getline(entries, entry, '\0');)
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  return {};
}

}  // namespace tutti::launcher
