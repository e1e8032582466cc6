// SPDX-License-Identifier: BSD-3-Clause
// Whether nodes reach each other's ports, which a firewall may forbid: each listens at a port of its own, as daemons and
// ranks do, and tries to connect to another one.
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <sstream>

#include "launcher/ask/doctor.hpp"

namespace tutti::launcher {
namespace {

constexpr int kMillisecondsEach = 3000;  // for a connection

// Zero, or why none is made.
int try_address(const std::string& address, const std::string& port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(address.c_str(), port.c_str(), &hints, &found) != 0) return EINVAL;
  const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int why = 0;
  if (::connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
    why = errno;
    pollfd ready{fd, POLLOUT, 0};
    socklen_t size = sizeof why;
    if (why == EINPROGRESS && (why = ETIMEDOUT, ::poll(&ready, 1, kMillisecondsEach) == 1))
      ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &size);
  }
  ::freeaddrinfo(found);
  ::close(fd);
  return why;
}

// `target` is a Listener's, `whose` the words for its node.
Finding look_at_way(const std::string& target, const std::string& what, const std::string& whose) {
  const size_t colon = std::min(target.rfind(':'), target.size());
  const std::string port = colon < target.size() ? target.substr(colon + 1) : "";
  std::istringstream list(target.substr(0, colon));
  std::string tried;
  for (std::string address; std::getline(list, address, ',');) {
    const int why = try_address(address, port);
    if (why == 0) return {Health::good, what, fmt::format("{} is reached at {}", whose, address)};
    tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", address, std::strerror(why));
  }
  return {Health::bad, what, fmt::format("no address of {} is reached ({})", whose, tried),
          "let the firewall pass all ports between the nodes of the cluster: daemons and ranks choose free ones"};
}

}  // namespace

Listener::Listener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  int port = 0;
  if (fd_ >= 0 && ::bind(fd_, reinterpret_cast<sockaddr*>(&address), size) == 0 && ::listen(fd_, SOMAXCONN) == 0 &&
      ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) == 0)
    port = ntohs(address.sin_port);
  std::string addresses = "127.0.0.1";  // for a node that shares our network
  for (const std::string& each : own_addresses())
    if (each.find(':') == each.npos) addresses.insert(0, each + ",");
  target_ = fmt::format("{}:{}", addresses, port);
}

Listener::~Listener() {
  if (fd_ >= 0) ::close(fd_);
}

Finding look_at_way_back(const std::string& target) {
  return look_at_way(target, "way back", "mpirun's node");
}

void meet_other_nodes() {
  const Listener own_port;
  fmt::print("listens\t{}\n", own_port.target());
  std::fflush(stdout);
  std::string line, name, target;
  std::getline(std::cin, line);
  if (std::istringstream words(line); words >> name >> target)
    fmt::print("{}", as_line(look_at_way(target, "other nodes", name)));
  fmt::print("met\tyes\n");
  std::fflush(stdout);
  // Another one may still want to connect, until the doctor that asks lets all go.
  while (std::getline(std::cin, line)) continue;
}

}  // namespace tutti::launcher
