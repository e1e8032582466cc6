// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/daemons/link.hpp"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "mpi.h"

namespace tutti::launcher {
namespace {
constexpr size_t kReadSize = 256 << 10;
constexpr auto kCheck = std::chrono::milliseconds(100);
constexpr int kChecksPerPing = 2;
constexpr auto kAway = 5 * kCheck;  // this process was stopped, or starved
constexpr int kLossPatience = 3;
}  // namespace

bool is_consistent(const NodeTask& task) {
  const JobMap& map = task.map;
  const auto inside = [](int index, size_t size) { return index >= 0 && static_cast<size_t>(index) < size; };
  return inside(task.node, map.nodes.size()) && map.slots.size() == map.nodes.size() &&
         task.policy.cores_per_rank >= 1 && (task.policy.by != MapPolicy::By::ppr || task.policy.per_part >= 1) &&
         (task.rank_slots.empty() || task.rank_slots.size() == map.ranks.size()) &&
         std::ranges::all_of(map.apps, [](const App& a) { return !a.command.empty(); }) &&
         task.allocation.size() == task.allocation_slots.size() &&
         map.ranks.is_consistent(map.nodes.size(), map.apps.size());
}

Link::Link(Loop& loop, int fd, std::chrono::nanoseconds vanish_after)
    : loop_(loop), fd_(fd), vanish_after_(vanish_after) {
  moved_ = checked_ = back_ = std::chrono::steady_clock::now();
  const int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  readable_ = loop.readable(fd, [this] { receive(); });
  ping_ = loop.every(kCheck, [this] { check_peer(); });
}

Link::~Link() {
  close();
}

void Link::close() {
  if (fd_ < 0) return;
  readable_.reset();
  writable_.reset();
  ping_.reset();
  ::close(std::exchange(fd_, -1));
}

void Link::end(LinkEnd how, const std::string& reason) {
  if (fd_ < 0) return;
  close();
  const std::shared_ptr<const Events> events = events_;
  if (events->closed) events->closed(how, reason);
}

void Link::send_bytes(Message type, std::string_view begin, const Parcel& end) {
  if (fd_ < 0) return;
  const auto size = static_cast<uint32_t>(begin.size() + end.size());
  char header[kFrameHeader];
  for (size_t i = 0; i < 4; ++i) header[i] = static_cast<char>(size >> (8 * i) & 0xff);
  header[4] = static_cast<char>(type);
  unsent_.put(std::string_view(header, sizeof header));
  unsent_.put(begin);
  unsent_.put(end);
  if (!writable_) flush();
}

void Link::flush() {
  while (fd_ >= 0 && !unsent_.empty()) {
    const std::string_view next = unsent_.front();
    // What is short, in front of a long parcel, takes no packet of its own.
    const int more = unsent_.has_more_than_front() ? MSG_MORE : 0;
    const ssize_t n = ::send(fd_, next.data(), next.size(), MSG_NOSIGNAL | more);
    if (n > 0) {
      unsent_.sent(static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      if (!writable_) writable_ = loop_.writable(fd_, [this] { flush(); });
      return;
    } else if (errno != EINTR) {
      break;  // the connection is broken: reading it will say so
    }
  }
  unsent_.clear();
  writable_.reset();
}

void Link::receive() {
  static thread_local std::string buffer(kReadSize, '\0');
  const ssize_t n = ::recv(fd_, buffer.data(), buffer.size(), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n < 0) return end(LinkEnd::hung_up, std::strerror(errno));
  if (n == 0) return end(LinkEnd::hung_up, "it closed the connection");
  received_.append(buffer.data(), static_cast<size_t>(n));
  if (const Error wrong = deliver()) end(LinkEnd::wrong, wrong.message());
}

Error Link::deliver() {
  size_t at = 0;
  Error wrong;
  while (!wrong && fd_ >= 0 && received_.size() - at >= kFrameHeader) {
    size_t size = 0;
    for (int i = 3; i >= 0; --i) size = size << 8 | static_cast<unsigned char>(received_[at + static_cast<size_t>(i)]);
    if (size > longest_)
      return failure(MPI_ERR_OTHER, "it sent a message of {} bytes, and up to {} are expected", size, longest_);
    if (received_.size() - at < kFrameHeader + size) break;
    const auto type = static_cast<Message>(received_[at + 4]);
    const std::string_view payload(received_.data() + at + kFrameHeader, size);
    at += kFrameHeader + size;
    const std::shared_ptr<const Events> events = events_;
    if (type != Message::ping && events->message) wrong = events->message(type, payload);
  }
  received_.erase(0, at);
  return wrong;
}

// How long the other kernel has owed an acknowledgement. It owes one for what is on its way, and
// for what could leave and does not, since the packets are dropped before they are counted as sent.
// A suspended peer, which reads nothing, closes the window: then it owes one for each probe.
std::chrono::milliseconds Link::silence() {
  const auto now = std::chrono::steady_clock::now();
  const bool was_away = now - std::exchange(checked_, now) > kAway;
  if (was_away) back_ = now;
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(fd_, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  const bool knows_window = size >= offsetof(tcp_info, tcpi_snd_wnd) + sizeof info.tcpi_snd_wnd;
  const auto ready = info.tcpi_unacked > 0 ? info.tcpi_snd_mss : std::min(info.tcpi_notsent_bytes, info.tcpi_snd_mss);
  const bool is_closed = knows_window && info.tcpi_snd_wnd < ready;
  const bool has_more = info.tcpi_unacked > 0 || info.tcpi_notsent_bytes > 0;
  if (!has_more || was_away || std::exchange(acknowledged_, info.tcpi_bytes_acked) != acknowledged_) moved_ = now;
  const auto stuck = std::chrono::duration_cast<std::chrono::milliseconds>(now - moved_);
  const auto unheard = std::chrono::milliseconds(info.tcpi_last_ack_recv);
  if (has_more && is_closed) {
    // What finds the window closed is sent again, more and more seldom, and answered; though not
    // each time, for a kernel answers no more than twice a second.
    const int doublings = info.tcpi_unacked > 0 ? 1 : std::min<int>(info.tcpi_backoff, 9) + 1;
    const auto pause = std::chrono::milliseconds((static_cast<int64_t>(info.tcpi_rto) << doublings) / 1000);
    return std::clamp(unheard - pause, std::chrono::milliseconds(0), stuck);
  }
  if (info.tcpi_unacked == 0) return knows_window ? stuck : std::chrono::milliseconds(0);
  // What comes from there shows that the kernel is there, even where packets are lost, for a while. While this process
  // was stopped it sent nothing, so that nothing was owed.
  const auto here = std::chrono::duration_cast<std::chrono::milliseconds>(now - back_);
  return std::max(stuck / kLossPatience, std::min(unheard, here));
}

void Link::check_peer() {
  if (const auto mute = silence(); mute > vanish_after_)
    return end(LinkEnd::silent, fmt::format("no answer for {} ms", mute.count()));
  if (++checks_ % kChecksPerPing == 0 && unsent_.empty()) send(Message::ping);
}

}  // namespace tutti::launcher
