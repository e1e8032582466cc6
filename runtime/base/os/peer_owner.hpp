// SPDX-License-Identifier: BSD-3-Clause
// Whose process holds the other end of a connection on this machine, as the kernel tells: for sockets that other users
// of the machine can reach, such as those of the loopback device.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tutti {

enum class PeerOwner {
  friendly,  // this user's, or root's
  foreign,   // another user's
  absent,    // no process of this machine holds it: another machine's, or closed already
  untold,    // the kernel, or the container around this process, does not tell
  unasked,   // this process has no file left to ask with
};

PeerOwner owner_of_peer(int connected);

// Whether it is an address of an interface of this machine, or of the loopback device's net, also where the system would
// let a socket have any other (net.ipv4.ip_nonlocal_bind). True where the system does not list them.
bool is_address_here(const sockaddr_storage& address);

// Whether connections over the loopback device get another answer than `untold`.
bool peers_are_told();

// One that has connected and has proved nothing yet.
struct Newcomer {
  explicit Newcomer(int connected);
  std::string origin;  // its address; or that it is another user's of this machine, whatever address that has taken
  std::chrono::steady_clock::time_point since;
};
// Which one goes where there are too many, given in the order of their coming: another user's before all, and else the
// oldest one of those from where most come, unless it has had less than a second for its proof; then nobody does, and
// the next one waits.
std::optional<size_t> one_too_many(std::span<const Newcomer> newcomers);

namespace peer_owner_ways {
// A socket as the kernel lists it. Without an inode no process has it open, and then its user is given as 0.
struct Found {
  uint32_t user = 0;
  uint64_t inode = 0;
  int state = 0;  // TCP_ESTABLISHED …
};
struct KernelAnswer {
  bool told = false, asked = true;
  std::optional<Found> found;  // empty: there is no such socket
};
// Of the socket whose own address is `peer`, and which is connected to `own`: IPv4 or IPv6, both of one family.
KernelAnswer by_netlink(const sockaddr_storage& peer, const sockaddr_storage& own);
KernelAnswer by_proc(const sockaddr_storage& peer, const sockaddr_storage& own);
}  // namespace peer_owner_ways

}  // namespace tutti
