// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/process/port.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <mpi-ext.h>
#include <mpi.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/log.hpp"
#include "base/random.hpp"
#include "boot/joining.hpp"
#include "mpi/object/current.hpp"
#include "mpi/process/beside.hpp"
#include "mpi/process/greetings.hpp"

namespace tutti::mpi::processes {
namespace {

constexpr std::string_view kScheme = "tutti://";
// To an address where nobody answers; there may be several.
constexpr int kPatienceWithAddress = 10;
constexpr int kSecretBytes = 32;
constexpr size_t kMostAddresses = 8;

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

std::string text_of(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address->sa_family == AF_INET)
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
  else
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text, sizeof text);
  return text;
}

// Those that other machines may reach, IPv4 first; an address of a link alone means nothing elsewhere.
std::vector<std::string> own_addresses() {
  std::vector<std::string> four, six;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return {};
  for (const ifaddrs* each = all; each; each = each->ifa_next) {
    if (!each->ifa_addr || !(each->ifa_flags & IFF_UP) || (each->ifa_flags & IFF_LOOPBACK)) continue;
    if (each->ifa_addr->sa_family == AF_INET) {
      four.push_back(text_of(each->ifa_addr));
    } else if (each->ifa_addr->sa_family == AF_INET6 &&
               !IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(each->ifa_addr)->sin6_addr)) {
      six.push_back(text_of(each->ifa_addr));
    }
  }
  ::freeifaddrs(all);
  four.insert(four.end(), six.begin(), six.end());
  if (four.size() > kMostAddresses) four.resize(kMostAddresses);
  return four;
}

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

bool make_address(const std::string& text, int port, Address& made) {
  auto& four = reinterpret_cast<sockaddr_in&>(made.storage);
  auto& six = reinterpret_cast<sockaddr_in6&>(made.storage);
  if (::inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(static_cast<uint16_t>(port));
    made.length = sizeof four;
  } else if (::inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(static_cast<uint16_t>(port));
    made.length = sizeof six;
  }
  return made.length > 0;
}

Result<Socket> reach(const std::string& address, int port) {
  Address to;
  if (!make_address(address, port, to)) return failure(MPI_ERR_PORT, "'{}' is no address", address);
  Socket socket(::socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return failure(MPI_ERR_PORT, "there is no socket: {}", std::strerror(errno));
  if (::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&to.storage), to.length) != 0) {
    int problem = errno;
    if (problem == EINPROGRESS) {
      const Deadline deadline = in_seconds(kPatienceWithAddress);
      pollfd one{socket.fd(), POLLOUT, 0};
      int n;
      while ((n = ::poll(&one, 1, milliseconds_until(deadline))) < 0 && errno == EINTR) {
      }
      socklen_t length = sizeof problem;
      ::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &problem, &length);
      if (n == 0) problem = ETIMEDOUT;
    }
    if (problem != 0) return failure(MPI_ERR_PORT, "{}", std::strerror(problem));
  }
  return socket;
}

// The other end may vanish with its machine.
void watch_liveness(int fd) {
  const int on = 1, idle = 30, interval = 10, probes = 6;
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Deadline deadline_of(TimeLimit patience) {
  return patience ? Deadline(std::chrono::steady_clock::now() + *patience) : std::nullopt;
}

bool is_over(Deadline deadline) {
  return deadline && std::chrono::steady_clock::now() >= *deadline;
}

std::string text_of(std::chrono::milliseconds time) {
  return time.count() % 1000 ? fmt::format("{} ms", time.count()) : fmt::format("{} s", time.count() / 1000);
}

}  // namespace

namespace {

// "JOB.RANK"; empty where that would not be known again.
std::string own_text() {
  const boot::JobInfo& job = own_job().view();
  return job.size == 1 || job.id.find('/') != std::string::npos ? "" : fmt::format("{}.{}", job.id, job.rank);
}

// The process of this job, but not this one, that has opened the port.
int owner_in_this_job(const PortName& name) {
  const boot::JobInfo& job = own_job().view();
  const std::string_view owner = name.owner;
  const size_t dot = owner.rfind('.');
  if (dot == std::string_view::npos || owner.substr(0, dot) != job.id) return kNobody;
  int rank = kNobody;
  std::from_chars(owner.data() + dot + 1, owner.data() + owner.size(), rank);
  return rank >= 0 && rank < job.size && rank != job.rank ? rank : kNobody;
}

}  // namespace

std::string PortName::text() const {
  std::string list;
  for (const std::string& address : addresses) list += (list.empty() ? "" : ",") + address;
  return fmt::format("{}{}/{}/{}/{}{}{}", kScheme, host, list, port, secret, owner.empty() ? "" : "/", owner);
}

Result<PortName> PortName::parse(std::string_view text) {
  const auto bad = [whole = text](std::string_view what) {
    return failure(MPI_ERR_PORT,
                   "'{}' is no name of a port: {}. MPI_Open_port gives one, such as "
                   "tutti://node1/10.0.0.1/40000/…",
                   whole.substr(0, 60), what);
  };
  if (!text.starts_with(kScheme)) return bad("it does not begin with tutti://");
  text.remove_prefix(kScheme.size());
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == '/')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  if (parts.size() != 4 && parts.size() != 5) return bad("it has not four parts, or five");
  PortName name;
  name.host = parts[0];
  for (size_t at = 0; at < parts[1].size();) {
    const size_t end = std::min(parts[1].find(',', at), parts[1].size());
    name.addresses.push_back(parts[1].substr(at, end - at));
    at = end + 1;
  }
  const char* const last = parts[2].data() + parts[2].size();
  const auto [end, problem] = std::from_chars(parts[2].data(), last, name.port);
  if (problem != std::errc() || end != last || name.port < 1 || name.port > 65535) return bad("its number is none");
  if (!Secret::from_hex(parts[3])) return bad("it ends in no secret");
  name.secret = parts[3];
  if (parts.size() == 5) name.owner = parts[4];
  return name;
}

Port::Port() = default;
Port::~Port() = default;

Result<std::shared_ptr<Port>> Port::open() {
  auto port = std::make_shared<Port>();
  int problem = 0;
  for (const int family : {AF_INET6, AF_INET}) {
    Socket socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    Address any;
    make_address(family == AF_INET6 ? "::" : "0.0.0.0", 0, any);
    const int off = 0;
    if (socket && family == AF_INET6) ::setsockopt(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (socket && ::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&any.storage), any.length) == 0 &&
        ::listen(socket.fd(), 128) == 0) {
      port->listener_ = std::move(socket);
      break;
    }
    problem = errno;
  }
  if (!port->listener_) return failure(MPI_ERR_PORT, "there is no socket to listen at: {}", std::strerror(problem));
  Address bound;
  bound.length = sizeof bound.storage;
  ::getsockname(port->listener_.fd(), reinterpret_cast<sockaddr*>(&bound.storage), &bound.length);
  PortName name{.host = host_name(), .addresses = own_addresses()};
  name.port = ntohs(bound.storage.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound.storage).sin6_port
                                                        : reinterpret_cast<sockaddr_in&>(bound.storage).sin_port);
  name.secret = random_hex(kSecretBytes);
  name.owner = own_text();
  {
    const Lock alone(port->greeting_);
    port->greetings_ = std::make_unique<Greetings>(name.secret);
  }
  while (name.text().size() >= MPI_MAX_PORT_NAME && !name.addresses.empty()) name.addresses.pop_back();
  port->name_ = name.text();
  return port;
}

// Where nobody may go yet for others to come.
constexpr auto kRest = std::chrono::milliseconds(100);

Result<Socket> Port::accept(int or_else, TimeLimit patience) {
  const Deadline deadline = deadline_of(patience);
  const auto in_vain = [&] {
    return failure(MPI_ERR_PORT, "nobody has connected for {}, as long as the hint 'timeout' allows",
                   text_of(*patience));
  };
  if (!deadline) {
    greeting_.lock();
  } else if (!greeting_.try_lock_until(*deadline)) {
    return in_vain();
  }
  const Lock alone(greeting_, std::adopt_lock);  // another thread may accept here, too
  for (;;) {
    if (Socket known = greetings_->take()) {
      watch_liveness(known.fd());
      return known;
    }
    if (is_over(deadline)) return in_vain();
    Result<bool> useless = greet(or_else, deadline);
    if (!useless) return std::move(useless).error();
    if (*useless) return Socket();
  }
}

// Until something has happened. True: on `or_else`.
Result<bool> Port::greet(int or_else, Deadline deadline) {
  const bool room = greetings_->make_room();
  std::vector<pollfd> all{{room ? listener_.fd() : -1, POLLIN, 0}, {or_else, POLLIN, 0}};
  greetings_->watch(all);
  Deadline until = greetings_->next();
  if (deadline && (!until || *deadline < *until)) until = deadline;
  if (const auto soon = std::chrono::steady_clock::now() + kRest; !room && (!until || soon < *until)) until = soon;
  const int n = ::poll(all.data(), all.size(), milliseconds_until(until));
  if (n < 0 && errno != EINTR) return failure(MPI_ERR_PORT, "cannot wait for a connection: {}", std::strerror(errno));
  if (n < 0) return false;
  greetings_->hear(all.data() + 2);
  if (all[0].revents) {
    Socket socket(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket)
      greetings_->add(std::move(socket));
    else if (errno == EMFILE || errno == ENFILE)
      return failure(MPI_ERR_PORT, "cannot accept a connection: {}", std::strerror(errno));
  }
  return n == 1 && all[1].revents != 0;
}

Result<Socket> connect_to_port(const std::string& text, TimeLimit patience, std::atomic<int>* awaited, int gives_up) {
  Result<PortName> name = PortName::parse(text);
  if (!name) return std::move(name).error();
  std::vector<std::string> addresses = name->addresses;
  if (name->host == host_name()) addresses.insert(addresses.begin(), {"127.0.0.1", "::1"});
  std::string tried;
  const Deadline deadline = deadline_of(patience);
  for (const std::string& address : addresses) {
    Result<Socket> socket = reach(address, name->port);
    if (awaited && socket) awaited->store(owner_in_this_job(*name));
    if (socket) socket->give_up_with(gives_up);
    Error problem = socket ? greet_as_client(*socket, name->secret, deadline, awaited) : Error();
    if (awaited) awaited->store(kNobody);
    if (problem.mpi_class() == MPIX_ERR_PROC_FAILED) return problem;
    if (socket) socket->give_up_with(-1);
    if (socket && !problem) {
      watch_liveness(socket->fd());
      return socket;
    }
    if (socket && is_over(deadline))
      return failure(MPI_ERR_PORT,
                     "the port {} of {} answers, but MPI_Comm_accept has not been called there for {}. The hint "
                     "'timeout', or the setting process.connect_timeout, gives it more time",
                     name->port, name->host, text_of(*patience));
    tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", address,
                         socket ? problem.message() : socket.error().message());
  }
  return failure(MPI_ERR_PORT, "the port {} of {} cannot be reached ({}). It may be closed, or its process has ended",
                 name->port, name->host, tried.empty() ? "its name has no address" : tried);
}

}  // namespace tutti::mpi::processes
