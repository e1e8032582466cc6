// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/ucx_guard.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/log.hpp"
#include "base/os/call_slots.hpp"
#include "base/os/late_word.hpp"
#include "base/os/peer_owner.hpp"
#include "transport/guard.hpp"

namespace tutti::transport {
namespace {

std::atomic<bool> all_may_come{false};

// Whether the other end has an address of this machine.
bool is_from_here(int connected) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (::getpeername(connected, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return true;
  return is_address_here(peer);
}

bool may_come(int connected) {
  if (all_may_come.load(std::memory_order_relaxed)) return true;
  const PeerOwner owner = owner_of_peer(connected);
  // What is closed already may have been anybody's here, and what it has sent could still be read.
  return owner == PeerOwner::absent ? !is_from_here(connected) : owner != PeerOwner::foreign;
}

// In place of accept(). UCX asks again as long as somebody waits there.
int accept_friend(int listener, sockaddr* address, socklen_t* size) {
  constexpr int kMostAtOnce = 64;
  for (int i = 0; i < kMostAtOnce; ++i) {
    const int fd = ::accept4(listener, address, size, SOCK_CLOEXEC);
    if (fd < 0 || may_come(fd)) return fd;
    say(Level::debug,
        "a connection to a port of UCX's is refused: it comes from this machine, and from no process of this user");
    ::close(fd);
  }
  errno = EAGAIN;
  return -1;
}

std::function<void(const std::string&)>& hears_of_end() {
  static auto& it = *new std::function<void(const std::string&)>;  // threads of UCX's outlive exit handlers
  return it;
}

std::string sentence_of(std::string_view place, const std::string& what) {
  if (place.starts_with("tcp_"))
    return fmt::format(
        "at a tcp port of UCX's something has come that is no UCX's ({}: {}): mostly from a process that is none of "
        "this job's and has connected there, at times of a connection whose other rank has just ended. Where UCX "
        "listens, and who reaches it there: mpirun(1), SECURITY",
        place, what);
  return fmt::format(
      "UCX cannot go on ({}: {}). Where a process that is none of this job's can reach its tcp ports, that "
      "may be the cause: mpirun(1), SECURITY",
      place, what);
}

// In place of what UCX ends a process by.
[[noreturn]] void end_of_ucx(const char* file, unsigned line, const char*, const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const std::string_view path = file ? file : "";
  const std::string place = fmt::format("{}:{}", path.substr(path.rfind('/') + 1), line);
  const std::string sentence = sentence_of(place, text);
  // It may be the echo of a peer's end, of which others say more; whoever has seen that ends this process within the time.
  std::this_thread::sleep_for(kTimeToEnd + std::chrono::seconds(1));
  if (hears_of_end()) hears_of_end()(sentence);
  say(Level::error, "{}", sentence);
  std::abort();
}

void* instead_of(std::string_view name) {
  if (name == "accept") return reinterpret_cast<void*>(&accept_friend);
  if (name == "ucs_fatal_error_format" && !std::getenv("UCX_HANDLE_ERRORS"))
    return reinterpret_cast<void*>(&end_of_ucx);
  return nullptr;
}

}  // namespace

void when_broken(std::function<void(const std::string& sentence)> tell) {
  hears_of_end() = std::move(tell);
}

void guard_ucx() {
  static const bool once = [] {
    constexpr std::string_view kLibraries[] = {"/libucs.so", "/libuct.so", "/libucp.so"};
    const int slots = redirect_calls(kLibraries, instead_of);
    say(Level::debug, "{} slots of UCX's libraries are redirected", slots);
    return true;
  }();
  static_cast<void>(once);
}

void let_in_other_users() {
  all_may_come.store(true, std::memory_order_relaxed);
}

}  // namespace tutti::transport
