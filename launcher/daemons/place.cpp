// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/daemons/place.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "launcher/daemons/protocol.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

constexpr auto kEachAddress = std::chrono::milliseconds(3000);

Moment now() {
  return std::chrono::steady_clock::now();
}

// A connected descriptor, or why not.
Result<int> connect_to(const std::string& address, int port, std::chrono::milliseconds timeout) {
  int problem = 0;
  const int fd = begin_to_connect(address, port, problem);
  if (fd >= 0) {
    pollfd ready{fd, POLLOUT, 0};
    problem = ::poll(&ready, 1, static_cast<int>(timeout.count())) == 1 ? error_of(fd) : ETIMEDOUT;
    if (problem == 0) return fd;
    ::close(fd);
  }
  return failure(MPI_ERR_OTHER, "{}: {}", address, std::strerror(problem));
}

}  // namespace

Place::Place(Loop& loop, Cleanup& cleanup, const DaemonStart& start, int node, Events events)
    : loop_(loop), cleanup_(cleanup), start_(start), node_(node), events_(std::move(events)) {}

Error Place::connect() {
  std::string story;
  for (const std::string& address : start_.above.addresses) {
    Result<int> fd = connect_to(address, start_.above.port, kEachAddress);
    if (!fd) {
      story += (story.empty() ? "" : "; ") + fd.error().message();
      continue;
    }
    link_ = std::make_unique<Link>(loop_, *fd, start_.node_timeout);
    return {};
  }
  return failure(MPI_ERR_OTHER,
                 "cannot reach the launcher at port {} of any of its addresses ({}); is "
                 "there a firewall between the nodes?",
                 start_.above.port, story);
}

void Place::begin(const NodeShape& shape) {
  shape_ = shape;
  has_place_ = true;
  take(std::move(link_));
  proof_ = loop_.after(start_.connect_timeout, [this] { end(false, "it has not proved in time to be of this job"); });
}

void Place::take(std::unique_ptr<Link> link) {
  link_ = std::move(link);
  challenge_.clear();
  is_proven_ = false;
  link_->attach({[this](Message type, std::string_view payload) {
                   return is_proven_ ? hear(type, payload) : meet(type, payload);
                 },
                 [this](LinkEnd how, const std::string& reason) { closed(how, reason); }});
}

// Until the other side has proven that it is ours.
Error Place::meet(Message type, std::string_view payload) {
  const Talk talk = challenge_.empty() ? Talk::meeting : Talk::challenged;
  if (!may_come(talk, Sender::launcher, type)) return failure(MPI_ERR_OTHER, "{}", out_of_place(talk, type));
  std::string text;
  if (!wire::unpack(payload, text) || text.empty()) return failure(MPI_ERR_OTHER, "{}", out_of_shape(type));
  if (type == Message::challenge) {
    challenge_ = text;
    nonce_ = random_hex(16);
    if (tenure_) tenure_->greeted(now());
    link_->send(Message::hello, kWireVersion, node_, nonce_,
                start_.secret.proof(daemon_claim(challenge_, nonce_, node_)), shape_, tenure_ ? tenure_->epoch() : 0);
    return {};
  }
  if (!same_proof(text, start_.secret.proof(launcher_claim(challenge_, nonce_, node_))))
    return failure(MPI_ERR_OTHER, "it is not the launcher of this job");
  proof_.reset();
  link_->expect_up_to(kLongestMessage);
  is_proven_ = true;
  return tenure_ ? Error() : events_.proven();
}

Error Place::hear(Message type, std::string_view payload) {
  const auto senseless = [type] { return failure(MPI_ERR_OTHER, "{}", out_of_shape(type)); };
  switch (type) {
    case Message::carried: {
      std::vector<int> way;
      std::string letter;
      if (!wire::unpack(payload, way, letter)) return senseless();
      return way.empty() ? read(letter) : (events_.carry(std::move(way), letter), Error());
    }
    case Message::answer: {
      int number = 0;
      if (!wire::unpack(payload, number)) return senseless();
      if (!tenure_) return {};
      tenure_->answered(number);
      break;
    }
    case Message::adopted:
      if (!tenure_) return {};
      tenure_->adopted(now());
      has_place_ = true;
      tell_again();
      break;
    case Message::refused:
      if (tenure_) tenure_->condemn();
      return look_soon(), Error();
    case Message::again:
      return tell_again(), Error();
    case Message::depart:
      return end(true), Error();
    default:
      return events_.message(type, payload);
  }
  cleanup_.lease_until(tenure_->lease_ends() + (Pace{start_.heartbeat}.enforced() - Pace{start_.heartbeat}.lease()));
  return {};
}

Error Place::read(const std::string& letter) {
  const Correspondence::Arrival arrival = letters_.take(letter);
  if (!arrival.is_sound) return failure(MPI_ERR_OTHER, "{}", out_of_shape(Message::carried));
  if (letters_.owes_receipt()) send(Message::told, node_, letters_.receipt());
  return arrival.word ? events_.message(arrival.word->type, arrival.word->payload) : Error();
}

void Place::write(Message type, std::string_view payload) {
  send(Message::told, node_, letters_.put(type, payload));
}

void Place::tell_again() {
  for (const std::string& letter : letters_.letters()) send(Message::told, node_, letter);
  events_.again();
}

// Before the tree heals the end of the link is this daemon's.
void Place::closed(LinkEnd how, const std::string& reason) {
  if (!tenure_) return end(false, how == LinkEnd::wrong ? reason : "");
  tenure_->lost();
  look_soon();
}

void Place::heal() {
  if (!heals() || tenure_) return;
  const Pace pace{start_.heartbeat};
  tenure_.emplace(pace, 1 + static_cast<int>(start_.ancestors.size()), now());
  cleanup_.lease_until(tenure_->lease_ends() + (pace.enforced() - pace.lease()));
  look_ = loop_.every(pace.look(), [this] { look(); });
  look_soon();
}

void Place::look_soon() {
  soon_ = loop_.after(std::chrono::nanoseconds(0), [this] { look(); });
}

void Place::look() {
  std::erase_if(former_, [](const auto& link) { return !link->is_open(); });
  for (const Tenure::Action& action : tenure_->pass(now())) {
    switch (action.what) {
      case Tenure::Action::What::beat:
        send(Message::beat, action.number);
        break;
      case Tenure::Action::What::approach:
        go_to(action.number);
        break;
      case Tenure::Action::What::end:
        return end(false);
    }
  }
}

// The one that is left closes the link when it has heard so: if this side did, what comes from there then could take the
// word back.
void Place::go_to(int ancestor) {
  has_place_ = false;
  if (link_ && link_->is_open() && !challenge_.empty()) {
    link_->send(Message::leave);
    link_->attach({[](Message, std::string_view) { return Error(); }, nullptr});
    former_.push_back(std::move(link_));
  }
  link_.reset();
  const bool is_mpirun = static_cast<size_t>(ancestor) == start_.ancestors.size();
  approach_.emplace(loop_, start_.ancestors[static_cast<size_t>(ancestor) - 1],
                    Approach::Events{[this](int fd) { take(std::make_unique<Link>(loop_, fd, start_.node_timeout)); },
                                     [this, is_mpirun](bool nobody_there) {
                                       if (nobody_there && is_mpirun) tenure_->condemn();
                                       tenure_->lost();
                                       look_soon();
                                     }});
}

void Place::close() {
  has_ended_ = true;
  proof_.reset();
  look_.reset();
  soon_.reset();
  approach_.reset();
  if (link_) link_->close();
}

void Place::end(bool departs, const std::string& distrusted) {
  if (std::exchange(has_ended_, true)) return;
  if (departs) cleanup_.lease_until(std::nullopt);
  events_.ended(departs, distrusted);
}

}  // namespace tutti::launcher
