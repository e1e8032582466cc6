// SPDX-License-Identifier: BSD-3-Clause
// Who may talk to the PMIx server of this process. The library listens on a port of the loopback
// device, takes a client's word for its user, believes lengths that come from there, and stands still
// for as long as a client that has connected says nothing: so that any user of the machine could join a
// job, stop it, or crash its launcher. This `accept`, which the dynamic linker gives to the library
// instead of the one of libc, asks the kernel whose the other end is, and lets in the same user and
// root alone. Where nobody tells, the key of the job's namespace keeps others from joining it.
#include "launcher/pmix/pmix_door.hpp"

#include <dlfcn.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "base/os/peer_owner.hpp"

namespace {

constexpr int kRestMilliseconds = 50;

std::atomic<bool> strict = false;  // the library's thread reads what is set before it begins

bool may_enter(int fd) {
  using tutti::PeerOwner;
  const PeerOwner owner = tutti::owner_of_peer(fd);
  return owner == PeerOwner::friendly || (owner == PeerOwner::untold && !strict);
}

}  // namespace

// The library gives up listening at any error but EAGAIN, which would leave the ranks that start
// later without a server. Out of descriptors it waits a little instead: its thread has nothing else
// to do, and asks again. What the server tells a rank leaves at once: otherwise a word that follows an
// answer, such as that a rank has failed right behind the last meeting of MPI_Init, waits the 40 ms
// that the rank's kernel takes to confirm the answer.
extern "C" __attribute__((visibility("default"))) int accept(int listener, sockaddr* address, socklen_t* size) {
  const int fd = ::accept4(listener, address, size, SOCK_CLOEXEC);
  if (fd >= 0) {
    const int one = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
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

bool loopback_is_up() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return true;  // not known
  bool up = false, there = false;
  for (const ifaddrs* each = all; each; each = each->ifa_next) {
    const bool loopback = (each->ifa_flags & IFF_LOOPBACK) != 0;
    there = there || loopback;
    up = up || (loopback && (each->ifa_flags & IFF_UP) != 0);
  }
  ::freeifaddrs(all);
  return up || !there;
}

void let_only_known_peers_in() {
  strict = true;
}

}  // namespace tutti::launcher
