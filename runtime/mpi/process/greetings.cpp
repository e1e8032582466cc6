// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/process/greetings.hpp"

#include <mpi.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/random.hpp"
#include "base/secret.hpp"
#include "mpi/process/beside.hpp"

namespace tutti::mpi::processes {
namespace {

constexpr size_t kLongestGreeting = 256;
constexpr size_t kMostGuests = 64;
constexpr std::chrono::seconds kPatienceWithStrangers{5};
// The nonces are of one length, so that no proof of one call is that of another.
constexpr size_t kNonce = 32;
constexpr char kAccepted[] = "accepted";

std::string proof(const std::string& secret, std::string_view who, const std::string& theirs, const std::string& ours) {
  return Secret::from_hex(secret)->proof(fmt::format("{} {} {}", who, theirs, ours));
}

Deadline at_once() {
  return std::chrono::steady_clock::now();
}

}  // namespace

bool Greetings::make_room() {
  std::vector<Newcomer> strangers;
  std::vector<std::list<Guest>::iterator> places;
  for (auto at = guests_.begin(); at != guests_.end(); ++at) {
    if (at->stage == Stage::known) continue;
    strangers.push_back(at->who);
    places.push_back(at);
  }
  if (strangers.size() < kMostGuests) return true;
  const std::optional<size_t> leaves = one_too_many(strangers);
  if (leaves) guests_.erase(places[*leaves]);
  return leaves.has_value();
}

void Greetings::add(Socket socket) {
  Newcomer who(socket.fd());
  guests_.push_back({.socket = std::move(socket), .who = std::move(who), .received = {}, .theirs = {}, .mine = {}});
}

void Greetings::watch(std::vector<pollfd>& list) const {
  for (const Guest& guest : guests_) list.push_back({guest.socket.fd(), POLLIN, 0});
}

void Greetings::hear(const pollfd* first) {
  const auto now = std::chrono::steady_clock::now();
  for (auto at = guests_.begin(); at != guests_.end(); ++first) {
    const bool is_there = !first->revents || listen_to(*at);
    const bool is_late = at->stage != Stage::known && now - at->who.since >= kPatienceWithStrangers;
    at = is_there && !is_late ? std::next(at) : guests_.erase(at);
  }
}

// What has come, up to the end of a message: its length, and its bytes.
bool Greetings::listen_to(Guest& guest) const {
  for (;;) {
    uint64_t length = 0;
    if (guest.received.size() >= sizeof length) std::memcpy(&length, guest.received.data(), sizeof length);
    if (length > kLongestGreeting) return false;
    char bytes[kLongestGreeting];
    const size_t wanted = guest.received.size() < sizeof length ? sizeof length - guest.received.size()
                                                                : sizeof length + length - guest.received.size();
    if (wanted == 0) {
      if (!understand(guest, guest.received.substr(sizeof length))) return false;
      guest.received.clear();
      continue;
    }
    const ssize_t n = ::recv(guest.socket.fd(), bytes, wanted, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (n <= 0 || guest.stage == Stage::known) return false;  // gone; or it should wait
    guest.received.append(bytes, static_cast<size_t>(n));
  }
}

bool Greetings::understand(Guest& guest, const std::string& message) const {
  if (guest.stage == Stage::proof) {
    guest.stage = Stage::known;
    return same_proof(message, proof(secret_, "connect", guest.theirs, guest.mine));
  }
  if (message.size() != kNonce) return false;
  guest.theirs = message;
  guest.mine = random_hex(kNonce / 2);
  guest.stage = Stage::proof;
  return !guest.socket.send(guest.mine + proof(secret_, "accept", guest.theirs, guest.mine), at_once());
}

Socket Greetings::take() {
  for (auto at = guests_.begin(); at != guests_.end();) {
    if (at->stage != Stage::known) {
      ++at;
      continue;
    }
    const bool is_there = listen_to(*at) && !at->socket.send(kAccepted, at_once());
    Socket socket = std::move(at->socket);
    at = guests_.erase(at);
    if (is_there) return socket;
  }
  return {};
}

Deadline Greetings::next() const {
  Deadline first;
  for (const Guest& guest : guests_)
    if (guest.stage != Stage::known && (!first || guest.who.since + kPatienceWithStrangers < *first))
      first = guest.who.since + kPatienceWithStrangers;
  return first;
}

Error greet_as_client(Socket& socket, const std::string& secret, Deadline deadline, std::atomic<int>* awaited) {
  const Deadline soon = std::chrono::steady_clock::now() + kPatienceWithStrangers;
  const std::string mine = random_hex(kNonce / 2);
  if (Error e = socket.send(mine, soon)) return e;
  const auto is_gone = [](Error e) { return std::move(e).within("the port was closed, or its process has ended"); };
  // Until MPI_Comm_accept is called over there.
  Result<std::string> answer = socket.receive(kLongestGreeting, deadline);
  // Before anything is sent that could let the other side's call end.
  if (awaited) awaited->store(kNobody);
  if (!answer) return is_gone(std::move(answer).error());
  if (answer->size() <= kNonce) return failure(MPI_ERR_PORT, "what listens there is no port of Tutti's");
  const std::string theirs = answer->substr(0, kNonce);
  if (!same_proof(answer->substr(kNonce), proof(secret, "accept", mine, theirs)))
    return failure(MPI_ERR_PORT, "what listens there is another port: it does not know this one's secret");
  if (Error e = socket.send(proof(secret, "connect", mine, theirs), in_seconds(kPatienceWithStrangers.count())))
    return e;
  // Others may be in front of us.
  Result<std::string> word = socket.receive(kLongestGreeting, deadline);
  if (!word) return is_gone(std::move(word).error());
  return *word == kAccepted ? Error() : failure(MPI_ERR_PORT, "the other side has sent something else");
}

}  // namespace tutti::mpi::processes
