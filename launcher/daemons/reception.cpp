// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/daemons/reception.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "base/log.hpp"
#include "base/random.hpp"
#include "launcher/daemons/protocol.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

constexpr size_t kMostGuests = 256;  // who have proved nothing yet, at a time
constexpr auto kProofTime = std::chrono::seconds(10);

}  // namespace

Error Reception::open() {
  const int zero = 0;
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  sockaddr* address = reinterpret_cast<sockaddr*>(&six);
  socklen_t size = sizeof six;
  int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
  const auto cannot = [&fd] {
    const std::string why = std::strerror(errno);
    if (fd >= 0) ::close(fd);
    return failure(MPI_ERR_OTHER, "cannot listen for daemons: {}", why);
  };
  if (fd < 0 || ::bind(fd, address, size) != 0) {  // no IPv6 here
    if (fd >= 0) ::close(fd);
    fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    address = reinterpret_cast<sockaddr*>(&four);
    size = sizeof four;
    if (fd < 0 || ::bind(fd, address, size) != 0) return cannot();
  }
  sockaddr_in6 bound{};
  size = sizeof bound;
  if (::listen(fd, SOMAXCONN) != 0 || ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0)
    return cannot();
  port_ = ntohs(bound.sin6_port);  // at the same place for both families
  acceptor_ = std::make_unique<Acceptor>(
      loop_, fd,
      Acceptor::Events{[this](int newcomer) { accepted(newcomer); }, [this] { return make_room(); },
                       [](const std::string& why) {
                         say(Level::warning,
                             "cannot take the connections of daemons for now: {}; 'ulimit -n' "
                             "tells how many files may be open",
                             why);
                       }});
  return {};
}

// Strangers have nothing to look for here; all that come for the job have come, or it is over.
void Reception::close() {
  loop_.post([this] {  // not now: one of them may be calling
    acceptor_.reset();
    guests_.clear();
  });
}

// A daemon proves itself as soon as it is asked. Where all places are taken, strangers who only hold theirs give way: were
// newcomers to wait for the end of a stranger's time, the daemons would stay behind them until the time to start is over.
bool Reception::make_room() {
  if (guests_.size() < kMostGuests) return true;
  std::vector<int> numbers;
  std::vector<Newcomer> guests;
  for (const auto& [number, guest] : guests_) {
    numbers.push_back(number);
    guests.push_back(guest.who);
  }
  const std::optional<size_t> leaves = one_too_many(guests);
  if (leaves) guests_.erase(numbers[*leaves]);
  return leaves.has_value();
}

void Reception::accepted(int fd) {
  const int number = next_guest_++;
  Guest& newcomer = guests_.try_emplace(number, fd).first->second;
  newcomer.link = std::make_unique<Link>(loop_, fd, node_timeout_);
  newcomer.challenge = random_hex(16);
  const auto forget = [this, number] { loop_.post([this, number] { guests_.erase(number); }); };
  newcomer.patience = loop_.after(kProofTime, forget);
  newcomer.link->attach(
      {[this, number](Message type, std::string_view payload) { return greet(number, type, payload); },
       [forget](LinkEnd, const std::string&) { forget(); }});
  newcomer.link->send(Message::challenge, newcomer.challenge);
}

// A newcomer that proves to be the daemon of a node becomes it; any other one is dropped.
Error Reception::greet(int number, Message type, std::string_view payload) {
  const auto found = guests_.find(number);
  int version = 0, node = 0, epoch = 0;
  NodeShape shape;
  std::string nonce, proof;
  const auto stranger = [] { return failure(MPI_ERR_OTHER, "it is none of the daemons"); };
  if (found == guests_.end()) return stranger();
  if (!may_come(Talk::meeting, Sender::daemon, type) ||
      !wire::unpack(payload, version, node, nonce, proof, shape, epoch))
    return stranger();
  const std::string challenge = found->second.challenge;
  if (!same_proof(proof, secret_.proof(daemon_claim(challenge, nonce, node))) || !events_.is_awaited(node, epoch))
    return stranger();
  std::unique_ptr<Link> link = std::move(found->second.link);
  guests_.erase(found);
  link->expect_up_to(kLongestMessage);
  const std::string welcome = wire::pack(secret_.proof(launcher_claim(challenge, nonce, node)));
  link->send_packed(Message::welcome, welcome);
  traffic_.count(Message::challenge, wire::pack(challenge).size());
  traffic_.count(Message::hello, payload.size());
  traffic_.count(Message::welcome, welcome.size());
  events_.proven(node, epoch, std::move(link), sound(shape));
  return {};
}

}  // namespace tutti::launcher
