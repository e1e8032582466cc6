// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/ask/inquiry.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <optional>

#include "launcher/data/job_map.hpp"
#include "launcher/data/wire.hpp"
#include "launcher/node/look.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

constexpr size_t kMostGuests = 16;
constexpr size_t kLongestQuestion = 1 << 16;
constexpr std::chrono::seconds kGuestTime{10};  // for one that does not read its answer
constexpr std::chrono::seconds kPatience{6};    // mpirun itself waits three for its nodes
constexpr std::string_view kSuffix = "why";

std::string socket_name(const std::string& job) {
  return job_prefix(job) + std::string(kSuffix);
}

struct Address {
  sockaddr_un address{};
  socklen_t size = 0;
  explicit Address(const std::string& name) {
    address.sun_family = AF_UNIX;
    const size_t length = std::min(name.size(), sizeof address.sun_path - 1);
    std::memcpy(address.sun_path + 1, name.data(), length);  // behind a 0: an abstract name
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// Who the other end is; nobody: the kernel does not say.
std::optional<uid_t> user_of(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? std::optional(peer.uid) : std::nullopt;
}

bool is_of_this_user(int fd) {
  return user_of(fd) == ::geteuid();
}

// Whether it may ask: root may see everything anyway.
bool may_ask(int fd) {
  return is_of_this_user(fd) || user_of(fd) == uid_t{0};
}

}  // namespace

Inquiries::Guest::~Guest() {
  watch.reset();
  if (fd >= 0) ::close(fd);
}

Inquiries::Inquiries(Loop& loop, const std::string& job, Asked asked) : loop_(loop), asked_(std::move(asked)) {
  const Address address(socket_name(job));
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  if (::bind(fd, address.get(), address.size) != 0 || ::listen(fd, 16) != 0) {
    ::close(fd);
    return;
  }
  acceptor_ =
      std::make_unique<Acceptor>(loop_, fd, Acceptor::Events{.accepted = [this](int guest) { accepted(guest); }});
}

Inquiries::~Inquiries() {
  guests_.clear();
}

void Inquiries::accepted(int fd) {
  if (guests_.size() >= kMostGuests || !may_ask(fd)) {
    ::close(fd);
    return;
  }
  const int number = next_guest_++;
  Guest& guest = *(guests_[number] = std::make_unique<Guest>());
  guest.fd = fd;
  guest.watch = loop_.readable(fd, [this, number] { read(number); });
  guest.patience = loop_.after(kGuestTime, [this, number] { guests_.erase(number); });
}

// The question is what comes until the guest closes its sending side.
void Inquiries::read(int number) {
  Guest& guest = *guests_.at(number);
  char bytes[4096];
  const ssize_t n = ::read(guest.fd, bytes, sizeof bytes);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n > 0) {
    guest.bytes.append(bytes, static_cast<size_t>(n));
    if (guest.bytes.size() > kLongestQuestion) guests_.erase(number);
    return;
  }
  int version = 0;
  Question question;
  if (n < 0 || !wire::unpack(guest.bytes, version, question) || version != kWireVersion) {
    guests_.erase(number);
    return;
  }
  guest.watch.reset();
  asked_(question, [this, number](const JobView& view) { answer(number, view); });
}

void Inquiries::answer(int number, const JobView& view) {
  const auto found = guests_.find(number);
  if (found == guests_.end()) return;  // it has been patient for long enough
  Guest& guest = *found->second;
  guest.bytes = wire::pack(view);
  guest.watch = loop_.writable(guest.fd, [this, number] { write(number); });
}

void Inquiries::write(int number) {
  Guest& guest = *guests_.at(number);
  const ssize_t n = ::send(guest.fd, guest.bytes.data() + guest.sent, guest.bytes.size() - guest.sent, MSG_NOSIGNAL);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n > 0) guest.sent += static_cast<size_t>(n);
  if (n <= 0 || guest.sent == guest.bytes.size()) guests_.erase(number);
}

std::vector<std::string> jobs_that_listen() {
  std::vector<std::string> jobs;
  const std::string prefix = "@" + std::string(kJobPrefix), suffix = "." + std::string(kSuffix);
  std::ifstream table("/proc/net/unix");
  for (std::string line; std::getline(table, line);) {
    const std::string name = line.substr(line.rfind(' ') + 1);
    if (name.size() <= prefix.size() + suffix.size() || !name.starts_with(prefix) || !name.ends_with(suffix)) continue;
    jobs.push_back(name.substr(prefix.size(), name.size() - prefix.size() - suffix.size()));
  }
  std::ranges::sort(jobs);
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());  // each guest has the name, too
  return jobs;
}

Result<JobView> ask_job(const std::string& job, const Question& question) {
  const auto refuse = [&](const char* what) { return failure(MPI_ERR_OTHER, "the mpirun of job {} {}", job, what); };
  const Address address(socket_name(job));
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  struct Closing {
    int fd;
    ~Closing() {
      if (fd >= 0) ::close(fd);
    }
  } closing{fd};
  if (fd < 0 || ::connect(fd, address.get(), address.size) != 0) return refuse("cannot be reached");
  if (!is_of_this_user(fd))
    return failure(MPI_ERR_ACCESS, "the mpirun of job {} is another user's; root sees it with --user", job);
  const std::string asked = wire::pack(kWireVersion, question);
  if (::send(fd, asked.data(), asked.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(asked.size()))
    return refuse("takes no question");
  ::shutdown(fd, SHUT_WR);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  std::string said;
  for (char bytes[1 << 16];;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd ready{fd, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) == 0)
      return refuse("does not answer; is it stopped?");
    const ssize_t n = ::read(fd, bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0 || said.size() > kLongestMessage) return refuse("has hung up");
    if (n == 0) break;
    said.append(bytes, static_cast<size_t>(n));
  }
  JobView view;
  if (!wire::unpack(said, view)) return refuse("does not understand this version of tutti");
  if (!are_sound(view.groups)) return refuse("does not understand this version of tutti");
  for (RankView& rank : view.ranks) make_printable(rank);
  for (RankGroup& group : view.groups) make_printable(group);
  return view;
}

}  // namespace tutti::launcher
