// SPDX-License-Identifier: BSD-3-Clause
// Who may talk to the PMIx server of this process. The library listens on a port of the loopback
// device, takes a client's word for its user, and stands still for as long as a client that has
// connected says nothing: so that any user of the machine could join a job, or stop it. This
// `accept`, which the dynamic linker gives to the library instead of the one of libc, asks the
// kernel whose the other end is, and lets in the same user and root alone.
#include "launcher/pmix_door.hpp"

#include <dlfcn.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>

namespace {

constexpr int kRestMilliseconds = 50;

struct Lookup {
  nlmsghdr header;
  inet_diag_req_v2 request;
};

// The user who made the socket whose own address is `peer` and which is connected to `own`. Empty
// where this kernel or container does not tell; -1 where there is no such socket any more.
std::optional<int64_t> owner_of(const sockaddr_in& peer, const sockaddr_in& own) {
  const int fd = ::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (fd < 0) return {};
  Lookup lookup{};
  lookup.header.nlmsg_len = sizeof lookup;
  lookup.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  lookup.header.nlmsg_flags = NLM_F_REQUEST;
  lookup.request.sdiag_family = AF_INET;
  lookup.request.sdiag_protocol = IPPROTO_TCP;
  lookup.request.id.idiag_sport = peer.sin_port;
  lookup.request.id.idiag_dport = own.sin_port;
  lookup.request.id.idiag_src[0] = peer.sin_addr.s_addr;
  lookup.request.id.idiag_dst[0] = own.sin_addr.s_addr;
  lookup.request.id.idiag_cookie[0] = lookup.request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  alignas(nlmsghdr) char answer[1024];
  // The kernel answers within send().
  const bool asked = ::send(fd, &lookup, sizeof lookup, 0) == sizeof lookup;
  const ssize_t size = asked ? ::recv(fd, answer, sizeof answer, MSG_DONTWAIT) : -1;
  ::close(fd);
  if (size < static_cast<ssize_t>(sizeof(nlmsghdr))) return {};
  nlmsghdr header;
  std::memcpy(&header, answer, sizeof header);
  const char* const body = answer + NLMSG_HDRLEN;
  const auto room = static_cast<size_t>(size) - NLMSG_HDRLEN;
  if (header.nlmsg_type == NLMSG_ERROR && room >= sizeof(nlmsgerr)) {
    nlmsgerr problem;
    std::memcpy(&problem, body, sizeof problem);
    return problem.error == -ENOENT ? std::optional<int64_t>(-1) : std::nullopt;
  }
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || room < sizeof(inet_diag_msg)) return {};
  inet_diag_msg found;
  std::memcpy(&found, body, sizeof found);
  return found.idiag_uid;
}

bool may_enter(int fd) {
  sockaddr_in peer{}, own{};
  socklen_t peer_size = sizeof peer, own_size = sizeof own;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size) != 0)
    return false;
  // The library can be told to listen elsewhere; what is not of this machine has no user here.
  if (peer.sin_family != AF_INET) return true;
  const std::optional<int64_t> owner = owner_of(peer, own);
  return !owner || *owner == ::geteuid() || *owner == 0;
}

}  // namespace

// The library gives up listening at any error but EAGAIN, which would leave the ranks that start
// later without a server. Out of descriptors it waits a little instead: its thread has nothing else
// to do, and asks again.
extern "C" __attribute__((visibility("default"))) int accept(int listener, sockaddr* address,
                                                             socklen_t* size) {
  const int fd = ::accept4(listener, address, size, SOCK_CLOEXEC);
  if (fd >= 0) {
    if (may_enter(fd)) return fd;
    ::close(fd);
  } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
    ::poll(nullptr, 0, kRestMilliseconds);
  }
  errno = EAGAIN;
  return -1;
}

namespace tutti::launcher {

bool pmix_door_is_guarded() {
  return ::dlsym(RTLD_DEFAULT, "accept") == reinterpret_cast<void*>(&::accept);
}

}  // namespace tutti::launcher
