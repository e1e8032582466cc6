// SPDX-License-Identifier: BSD-3-Clause
// Whose the other end of a connection is: by netlink and by /proc/net/tcp, over both families.
#include "base/os/peer_owner.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

namespace tutti {
namespace {

using namespace peer_owner_ways;

class Connections : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    listener_ = ::socket(GetParam(), SOCK_STREAM, 0);
    const int off = 0;
    if (GetParam() == AF_INET6) ::setsockopt(listener_, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_storage any{};
    any.ss_family = static_cast<sa_family_t>(GetParam());
    if (listener_ < 0 || ::bind(listener_, reinterpret_cast<sockaddr*>(&any), size_) != 0 ||
        ::listen(listener_, 8) != 0)
      GTEST_SKIP() << "no sockets of this family";
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&here_), &size_);
  }
  void TearDown() override { ::close(listener_); }

  // Over IPv4, which is at the same place in both addresses.
  int connect() const {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = reinterpret_cast<const sockaddr_in&>(here_).sin_port;
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    return fd;
  }
  int accepted() const { return ::accept4(listener_, nullptr, nullptr, 0); }
  // What both ways say, which has to be the same.
  static Found seen(int fd) {
    sockaddr_storage peer{}, own{};
    socklen_t peer_size = sizeof peer, own_size = sizeof own;
    ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size);
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size);
    const KernelAnswer one = by_netlink(peer, own), two = by_proc(peer, own);
    EXPECT_TRUE(one.told && two.told && one.found && two.found);
    const Found found = one.found.value_or(Found{}), listed = two.found.value_or(Found{});
    EXPECT_EQ(found.user, listed.user);
    EXPECT_EQ(found.inode, listed.inode);
    EXPECT_EQ(found.state == TCP_ESTABLISHED, listed.state == TCP_ESTABLISHED);  // what closes goes through others
    return found;
  }

  int listener_ = -1;
  sockaddr_storage here_{};
  socklen_t size_ = sizeof here_;
};

TEST(Addresses, OfThisMachineAreKnown) {
  const auto is_here = [](int family, const char* text) {
    sockaddr_storage address{};
    address.ss_family = static_cast<sa_family_t>(family);
    EXPECT_EQ(::inet_pton(family, text,
                          family == AF_INET ? static_cast<void*>(&reinterpret_cast<sockaddr_in&>(address).sin_addr)
                                            : static_cast<void*>(&reinterpret_cast<sockaddr_in6&>(address).sin6_addr)),
              1);
    return is_address_here(address);
  };
  EXPECT_TRUE(is_here(AF_INET, "127.0.0.1"));
  EXPECT_TRUE(is_here(AF_INET, "127.9.8.7"));
  EXPECT_TRUE(is_here(AF_INET6, "::1"));
  EXPECT_TRUE(is_here(AF_INET6, "::ffff:127.0.0.1"));
  EXPECT_FALSE(is_here(AF_INET, "192.0.2.1"));  // for documentation alone, as are the others
  EXPECT_FALSE(is_here(AF_INET6, "::ffff:192.0.2.1"));
  EXPECT_FALSE(is_here(AF_INET6, "2001:db8::1"));
  ifaddrs* all = nullptr;
  ASSERT_EQ(::getifaddrs(&all), 0);
  for (const ifaddrs* each = all; each; each = each->ifa_next) {
    if (!each->ifa_addr || each->ifa_addr->sa_family != AF_INET) continue;
    sockaddr_storage address{};
    std::memcpy(&address, each->ifa_addr, sizeof(sockaddr_in));
    EXPECT_TRUE(is_address_here(address));
  }
  ::freeifaddrs(all);
}

TEST_P(Connections, OfThisUserAreFriendly) {
  const int client = connect(), server = accepted();
  EXPECT_EQ(seen(server).user, ::geteuid());
  EXPECT_EQ(seen(server).state, TCP_ESTABLISHED);
  EXPECT_EQ(owner_of_peer(server), PeerOwner::friendly);
  ::close(client);
  ::close(server);
}

// The kernel lists a socket that nobody has open any more as root's.
TEST_P(Connections, ClosedBeforeTheyAreTakenAreNobodys) {
  ::close(connect());
  const int server = accepted();
  EXPECT_EQ(seen(server).inode, 0u);
  EXPECT_EQ(owner_of_peer(server), PeerOwner::absent);
  ::close(server);
  const int reset = connect();
  const linger at_once{1, 0};
  ::setsockopt(reset, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ::close(reset);
  const int gone = accepted();
  EXPECT_EQ(owner_of_peer(gone), PeerOwner::absent);
  ::close(gone);
}

TEST_P(Connections, OfAnotherUserAreForeign) {
  if (::geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    if (::setresuid(65534, 65534, 65534) != 0) ::_exit(1);
    static_cast<void>(connect());
    ::pause();
  }
  const int server = accepted();
  EXPECT_EQ(seen(server).user, 65534u);
  EXPECT_EQ(owner_of_peer(server), PeerOwner::foreign);
  ::close(server);
  ::kill(stranger, SIGKILL);
  ::waitpid(stranger, nullptr, 0);
}

// Which is another answer than that nobody tells: then a door stays shut.
TEST_P(Connections, CannotBeAskedForWithoutFiles) {
  const int client = connect(), server = accepted();
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit none{0, limit.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  const PeerOwner owner = owner_of_peer(server);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_EQ(owner, PeerOwner::unasked);
  ::close(client);
  ::close(server);
}

INSTANTIATE_TEST_SUITE_P(PeerOwner, Connections, ::testing::Values(AF_INET, AF_INET6));

std::vector<Newcomer> guests(const std::vector<std::string>& origins, std::chrono::milliseconds age) {
  std::vector<Newcomer> all;
  for (const std::string& origin : origins) {
    all.emplace_back(-1);
    all.back().origin = origin;
    all.back().since -= age;
  }
  return all;
}
TEST(PeerOwner, OfTooManyTheOldestOfTheMostGoes) {
  using namespace std::chrono_literals;
  EXPECT_EQ(one_too_many(guests({"a"}, 2s)), 0u);
  EXPECT_EQ(one_too_many(guests({"a", "b", "c", "b"}, 2s)), 1u);
  EXPECT_EQ(one_too_many(guests({"a", "a", "c", "c", "c"}, 2s)), 2u);
  EXPECT_EQ(one_too_many(guests({"a", "b", "c", "b"}, 500ms)), std::nullopt);
  EXPECT_EQ(one_too_many(guests({"a", "a", "another user"}, 0ms)), 2u);
}

TEST(PeerOwner, IsToldHere) {
  EXPECT_TRUE(peers_are_told());
}

TEST(PeerOwner, OfSocketsInTheFileSystem) {
  int both[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, both), 0);
  EXPECT_EQ(owner_of_peer(both[0]), PeerOwner::friendly);
  ::close(both[0]);
  ::close(both[1]);
}

}  // namespace
}  // namespace tutti
