// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/peer_owner.hpp"

#include <ifaddrs.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>

#include "base/result.hpp"

namespace tutti {
namespace peer_owner_ways {
namespace {

struct Lookup {
  nlmsghdr header;
  inet_diag_req_v2 request;
};

struct End {
  in_port_t port = 0;  // as on the wire
  uint32_t words[4] = {};
};

End end_of(const sockaddr_storage& address) {
  End end;
  if (address.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    end.port = four.sin_port;
    end.words[0] = four.sin_addr.s_addr;
  } else {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
    end.port = six.sin6_port;
    std::memcpy(end.words, &six.sin6_addr, sizeof end.words);
  }
  return end;
}

// As /proc/net/tcp and tcp6 write it: each word of the address as the machine reads it, then the port.
std::string as_listed(const End& end, int words) {
  std::string text;
  for (int i = 0; i < words; ++i) text += fmt::format("{:08X}", end.words[i]);
  return text + fmt::format(":{:04X}", ntohs(end.port));
}

// After an attempt to open something.
KernelAnswer not_told() {
  const bool none_left = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
  return {.told = false, .asked = !none_left, .found = {}};
}

KernelAnswer search(const char* list, const std::string& local, const std::string& remote) {
  errno = 0;
  std::ifstream file(list);
  if (!file) return not_told();
  std::string line;
  if (!std::getline(file, line)) return {};
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string number, from, to, state, queues, timer, sent_again, timeout;
    Found found;
    if (!(fields >> number >> from >> to >> state >> queues >> timer >> sent_again >> found.user >> timeout >>
          found.inode) ||
        from != local || to != remote)
      continue;
    found.state = static_cast<int>(std::strtol(state.c_str(), nullptr, 16));
    return {.told = true, .asked = true, .found = found};
  }
  return {.told = true, .asked = true, .found = {}};
}

}  // namespace

KernelAnswer by_netlink(const sockaddr_storage& peer, const sockaddr_storage& own) {
  const int fd = ::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (fd < 0) return not_told();
  const End from = end_of(peer), to = end_of(own);
  Lookup lookup{};
  lookup.header.nlmsg_len = sizeof lookup;
  lookup.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  lookup.header.nlmsg_flags = NLM_F_REQUEST;
  lookup.request.sdiag_family = static_cast<uint8_t>(peer.ss_family);
  lookup.request.sdiag_protocol = IPPROTO_TCP;
  lookup.request.id.idiag_sport = from.port;
  lookup.request.id.idiag_dport = to.port;
  std::memcpy(lookup.request.id.idiag_src, from.words, sizeof from.words);
  std::memcpy(lookup.request.id.idiag_dst, to.words, sizeof to.words);
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
    return {.told = problem.error == -ENOENT, .asked = true, .found = {}};  // other errors: this kernel cannot tell
  }
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || room < sizeof(inet_diag_msg)) return {};
  inet_diag_msg found;
  std::memcpy(&found, body, sizeof found);
  return {.told = true, .asked = true, .found = Found{found.idiag_uid, found.idiag_inode, found.idiag_state}};
}

KernelAnswer by_proc(const sockaddr_storage& peer, const sockaddr_storage& own) {
  const End from = end_of(peer), to = end_of(own);
  if (peer.ss_family == AF_INET) return search("/proc/net/tcp", as_listed(from, 1), as_listed(to, 1));
  const KernelAnswer six = search("/proc/net/tcp6", as_listed(from, 4), as_listed(to, 4));
  if (six.found || !IN6_IS_ADDR_V4MAPPED(&reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr)) return six;
  // What listens for both families meets a socket of IPv4.
  End from4 = from, to4 = to;
  from4.words[0] = from.words[3];
  to4.words[0] = to.words[3];
  return search("/proc/net/tcp", as_listed(from4, 1), as_listed(to4, 1));
}

}  // namespace peer_owner_ways

namespace {

bool is_established(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  return ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_state == TCP_ESTABLISHED;
}

// In a user namespace the kernel gives all users that have no number there as one, 65534. A process that bears that
// number itself cannot tell its own user from those, unless all numbers are mapped.
bool users_look_alike() {
  uint32_t overflow = 65534;
  std::ifstream("/proc/sys/kernel/overflowuid") >> overflow;
  if (::geteuid() != overflow) return false;
  std::ifstream map("/proc/self/uid_map");
  uint64_t mapped = 0;
  for (uint64_t inside = 0, outside = 0, count = 0; map >> inside >> outside >> count;) mapped += count;
  return mapped < UINT32_MAX;
}

PeerOwner owner_by(uint32_t user) {
  return user == ::geteuid() || user == 0 ? PeerOwner::friendly : PeerOwner::foreign;
}

// Of sockets in the file system.
PeerOwner owner_by_credentials(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return PeerOwner::untold;
  return owner_by(peer.uid);
}

// A kernel without the module for these questions says that there is no such socket: of this end, too.
peer_owner_ways::KernelAnswer ask(const sockaddr_storage& peer, const sockaddr_storage& own) {
  peer_owner_ways::KernelAnswer answer = peer_owner_ways::by_netlink(peer, own);
  if (answer.found || (answer.told && peer_owner_ways::by_netlink(own, peer).found)) return answer;
  return peer_owner_ways::by_proc(peer, own);
}

}  // namespace

PeerOwner owner_of_peer(int connected) {
  sockaddr_storage peer{}, own{};
  socklen_t peer_size = sizeof peer, own_size = sizeof own;
  if (::getpeername(connected, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0 ||
      ::getsockname(connected, reinterpret_cast<sockaddr*>(&own), &own_size) != 0)
    return PeerOwner::absent;
  if (users_look_alike()) return PeerOwner::untold;
  if (own.ss_family == AF_UNIX) return owner_by_credentials(connected);
  if (own.ss_family != AF_INET && own.ss_family != AF_INET6) return PeerOwner::untold;
  if (!is_established(connected)) return PeerOwner::absent;
  const peer_owner_ways::KernelAnswer answer = ask(peer, own);
  if (!answer.told) return answer.asked ? PeerOwner::untold : PeerOwner::unasked;
  // What was sent before a connection was closed can still be read, and the next socket of these addresses may be
  // anybody's: so this end has to be open after the look.
  if (!answer.found || answer.found->inode == 0 || answer.found->state != TCP_ESTABLISHED || !is_established(connected))
    return PeerOwner::absent;
  return owner_by(answer.found->user);
}

bool is_address_here(const sockaddr_storage& address) {
  // IPv4 within IPv6 is IPv4.
  const auto key_of = [](const sockaddr& any) -> std::optional<in6_addr> {
    in6_addr key{};
    if (any.sa_family == AF_INET6) {
      key = reinterpret_cast<const sockaddr_in6&>(any).sin6_addr;
    } else if (any.sa_family == AF_INET) {
      key.s6_addr[10] = key.s6_addr[11] = 0xff;
      std::memcpy(key.s6_addr + 12, &reinterpret_cast<const sockaddr_in&>(any).sin_addr, 4);
    } else {
      return {};
    }
    return key;
  };
  const std::optional<in6_addr> wanted = key_of(reinterpret_cast<const sockaddr&>(address));
  if (!wanted) return true;
  if (IN6_IS_ADDR_LOOPBACK(&*wanted) || (IN6_IS_ADDR_V4MAPPED(&*wanted) && wanted->s6_addr[12] == 127)) return true;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return true;
  bool here = false;
  for (const ifaddrs* each = all; each && !here; each = each->ifa_next)
    if (const std::optional<in6_addr> own = each->ifa_addr ? key_of(*each->ifa_addr) : std::nullopt)
      here = std::memcmp(&*own, &*wanted, sizeof *own) == 0;
  ::freeifaddrs(all);
  return here;
}

bool peers_are_told() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const address = reinterpret_cast<sockaddr*>(&here);
  socklen_t size = sizeof here;
  bool told = true;  // without a loopback device nobody is asked for
  if (listener >= 0 && client >= 0 && ::bind(listener, address, size) == 0 && ::listen(listener, 1) == 0 &&
      ::getsockname(listener, address, &size) == 0) {
    static_cast<void>(::connect(client, address, size));  // it is under way to itself, and so through at once
    told = owner_of_peer(client) != PeerOwner::untold;
  }
  for (const int fd : {listener, client})
    if (fd >= 0) ::close(fd);
  return told;
}

namespace {

const std::string kAnotherUser = "another user";
constexpr std::chrono::seconds kTimeToProve{1};

std::string origin_of(int connected) {
  if (owner_of_peer(connected) == PeerOwner::foreign) return kAnotherUser;
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (::getpeername(connected, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return {};
  if (peer.ss_family == AF_INET6)
    return {reinterpret_cast<const char*>(&reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr), sizeof(in6_addr)};
  return {reinterpret_cast<const char*>(&reinterpret_cast<const sockaddr_in&>(peer).sin_addr), sizeof(in_addr)};
}

}  // namespace

Newcomer::Newcomer(int connected) : origin(origin_of(connected)), since(std::chrono::steady_clock::now()) {}

std::optional<size_t> one_too_many(std::span<const Newcomer> newcomers) {
  std::map<std::string_view, size_t> many;
  for (const Newcomer& each : newcomers) ++many[each.origin];
  if (many.empty()) return {};
  const auto another = many.find(kAnotherUser);
  const bool foreign = another != many.end();
  const std::string_view origin =
      foreign ? another->first
              : std::ranges::max_element(many, {}, [](const auto& each) { return each.second; })->first;
  const auto oldest = std::ranges::find(newcomers, origin, &Newcomer::origin);
  if (!foreign && std::chrono::steady_clock::now() - oldest->since < kTimeToProve) return {};
  return static_cast<size_t>(oldest - newcomers.begin());
}

}  // namespace tutti
