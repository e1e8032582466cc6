// SPDX-License-Identifier: BSD-3-Clause
// lying_end daemon KIND: stands where a tuttid should, proves to belong to the job, and says what
// has no place or makes no sense. lying_end launcher TUTTID KIND: starts a tuttid and does the same
// to it. Either then waits for the other side to hang up; exit code 3: it has not, in five seconds.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "launcher/daemons/bundle.hpp"
#include "launcher/daemons/daemon_start.hpp"
#include "launcher/daemons/link.hpp"
#include "launcher/daemons/rank_ends.hpp"
#include "launcher/data/wire.hpp"
#include "launcher/node/cleanup.hpp"

extern char** environ;

using namespace tutti;
using namespace tutti::launcher;

namespace {

int link_fd = -1;

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "lying_end: %s\n", what);
  ::_exit(9);
}

void put(const std::string& bytes) {
  static_cast<void>(::send(link_fd, bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

std::string header(size_t size, Message type) {
  std::string out;
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(size >> shift & 0xff);
  return out + static_cast<char>(type);
}

template <class... T>
void tell(Message type, const T&... fields) {
  const std::string payload = wire::pack(fields...);
  put(header(payload.size(), type) + payload);
}

bool get(char* bytes, size_t size) {
  for (size_t at = 0; at < size;) {
    const ssize_t n = ::recv(link_fd, bytes + at, size - at, 0);
    if (n <= 0) return false;
    at += static_cast<size_t>(n);
  }
  return true;
}

// The payload of the next message of this type.
std::string await(Message type) {
  for (;;) {
    char head[kFrameHeader];
    if (!get(head, sizeof head)) give_up("the other side has hung up too early");
    size_t size = 0;
    for (int i = 3; i >= 0; --i) size = size << 8 | static_cast<unsigned char>(head[i]);
    std::string payload(size, '\0');
    if (!get(payload.data(), size)) give_up("the other side has hung up within a message");
    if (static_cast<Message>(head[4]) == type) return payload;
  }
}

[[noreturn]] void wait_for_the_end() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  for (char bytes[4096]; std::chrono::steady_clock::now() < end;) {
    pollfd ready{link_fd, POLLIN, 0};
    if (::poll(&ready, 1, 100) == 1 && ::recv(link_fd, bytes, sizeof bytes, 0) <= 0) ::_exit(0);
  }
  ::_exit(3);
}

// What both sides can say wrong.
bool lie_alike(const std::string& kind) {
  if (kind == "unknown")
    tell(static_cast<Message>(99));
  else if (kind == "long")
    put(header(0xffffffff, Message::output));
  else
    return false;
  return true;
}

// What only the daemon above a node may say of it.
bool speak_for_another(const std::string& kind, int node) {
  const std::vector<Span> nodes{{node, 1}};
  const std::string nothing;
  if (kind == "relayed")
    tell(Message::relayed, nodes, Message::launched, nothing);
  else if (kind == "gathered")
    tell(Message::gathered, nodes, std::string("job:4294967294 #0"), nothing, Addresses{});
  else if (kind == "gathered_groups")
    tell(Message::gathered_groups, nodes, uint64_t{1}, std::vector<RankGroup>());
  else if (kind == "joined")
    tell(Message::joined, node, NodeShape{.cores = 2});
  else if (kind == "parted")
    tell(Message::parted, node, LinkEnd::silent, std::string("it is gone"));
  else if (kind == "not_started")
    tell(Message::not_started, nodes, std::string("no way"));
  else if (kind == "counted")
    tell(Message::counted, std::string("x"));
  else
    return false;
  return true;
}

[[noreturn]] void be_daemon(const std::string& kind) {
  auto start = read_start(STDIN_FILENO);
  if (!start) give_up(start.error().message().c_str());
  link_fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(start->above.port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(link_fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) give_up("cannot connect");
  std::string challenge;
  if (!wire::unpack(await(Message::challenge), challenge)) give_up("no challenge");
  if (kind == "unproved") {
    tell(Message::launched);
    wait_for_the_end();
  }
  if (kind == "long_hello") {
    put(header(100'000, Message::hello));
    wait_for_the_end();
  }
  const std::string nonce = random_hex(16);
  const int node = start->nodes[0].number;
  tell(Message::hello, kWireVersion, node, nonce, start->secret.proof(daemon_claim(challenge, nonce, node)),
       NodeShape{.cores = 2}, 0);
  await(Message::welcome);
  if (kind == "early") {
    tell(Message::output, 0, OutputStream::out, std::string("x\n"));
    wait_for_the_end();
  }
  if (kind == "hello_twice") {
    tell(Message::hello, 1, 2, nonce, nonce, 3);
    wait_for_the_end();
  }
  NodeTask task;
  if (!wire::unpack(await(Message::launch), task)) give_up("no task");
  const auto named = std::ranges::find(task.map.nodes, start->nodes[0].name) - task.map.nodes.begin();
  const int own = task.map.ranks_on(static_cast<int>(named))[0];
  if (kind == "finished") {
    tell(Message::launched);
    tell(Message::finished);
  } else if (kind == "launched_twice") {
    tell(Message::launched);
    tell(Message::launched);
  } else if (kind == "another_rank") {
    tell(Message::rank_ended, RankEnd{.rank = own == 0 ? 1 : 0});
  } else if (kind == "ended_twice") {
    tell(Message::rank_ended, RankEnd{.rank = own, .pid = 1, .wait_status = 0});
    tell(Message::rank_ended, RankEnd{.rank = own, .pid = 1, .wait_status = 0});
  } else if (kind == "places_of_others") {
    tell(Message::ranks_ended, std::vector<EndsAlike>{{.how = {.pid = 1, .cause = {}}, .ranks = {{0, 2}}}});
  } else if (kind == "together_twice") {
    tell(Message::ranks_ended, std::vector<EndsAlike>{{.how = {.pid = 1, .cause = {}}, .ranks = {{0, 1}, {0, 1}}}});
  } else if (kind == "grouped") {
    tell(Message::grouped, uint64_t{1}, std::vector<RankGroup>(1));
  } else if (kind == "cut") {
    put(header(8, Message::output) + std::string(8, '\xff'));
  } else if (kind == "stream") {
    tell(Message::output, own, 7, std::string("x\n"));
  } else if (kind == "as_launcher") {
    tell(Message::finish, true);
  } else if (speak_for_another(kind, node == 1 ? 0 : 1)) {
    // Said.
  } else if (!lie_alike(kind)) {
    give_up("there is no such lie");
  }
  wait_for_the_end();
}

NodeTask two_sleepers(const std::string& job) {
  NodeTask task;
  task.map.id = job;
  task.map.nodes = {"here"};
  task.map.slots = {2};
  task.map.apps = {{{"sleep", "600"}, "/", {}}};
  task.map.ranks = {{0, 0, 0}, {0, 0, 1}};
  task.key = random_hex(16);
  for (char** entry = environ; *entry; ++entry) task.environment.emplace_back(*entry);
  return task;
}

// Its exit code is a part of what is looked at.
[[noreturn]] void see_it_hang_up(pid_t daemon) {
  const pid_t waiter = ::fork();
  if (waiter == 0) wait_for_the_end();
  int status = 0;
  ::waitpid(waiter, &status, 0);
  if (WEXITSTATUS(status) != 0) give_up("the daemon does not hang up");
  ::waitpid(daemon, &status, 0);
  ::_exit(WIFEXITED(status) && WEXITSTATUS(status) == 1 ? 0 : 4);
}

[[noreturn]] void be_launcher(const char* tuttid, const std::string& kind) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener, 1) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    give_up("cannot listen");
  DaemonStart start;
  start.job_id = random_hex(6);
  start.nodes = {{0, "here"}};
  start.above.port = ntohs(address.sin_port);
  start.above.addresses = {"127.0.0.1"};
  start.node_timeout = std::chrono::seconds(2);
  start.connect_timeout = std::chrono::seconds(kind == "silent" ? 1 : 20);
  start.secret = Secret::random();
  int input[2];
  if (::pipe2(input, O_CLOEXEC) != 0) give_up("cannot make a pipe");
  const pid_t daemon = ::fork();
  if (daemon == 0) {
    ::dup2(input[0], STDIN_FILENO);
    ::execl(tuttid, tuttid, nullptr);
    ::_exit(127);
  }
  const std::string text = write_start(start);
  if (::write(input[1], text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    give_up("cannot tell the daemon what to do");
  link_fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  ::alarm(20);
  const std::string challenge = random_hex(16);
  if (kind == "silent") {
    int status = 0;
    ::waitpid(daemon, &status, 0);
    ::_exit(WIFEXITED(status) && WEXITSTATUS(status) == 1 ? 0 : 4);
  }
  if (kind == "unproved") {
    tell(Message::signal_ranks, 9);
    see_it_hang_up(daemon);
  }
  tell(Message::challenge, challenge);
  int version = 0, node = 0, epoch = 0;
  NodeShape shape;
  std::string nonce, proof;
  if (!wire::unpack(await(Message::hello), version, node, nonce, proof, shape, epoch)) give_up("no hello");
  if (kind == "challenge_twice") {
    tell(Message::challenge, challenge);
    see_it_hang_up(daemon);
  }
  if (kind == "unknowing") {
    tell(Message::welcome, proof);
    see_it_hang_up(daemon);
  }
  tell(Message::welcome, start.secret.proof(launcher_claim(challenge, nonce, node)));
  if (kind == "early") {
    tell(Message::give_input, std::string("x\n"));
    see_it_hang_up(daemon);
  }
  tell(Message::launch, two_sleepers(start.job_id));
  await(Message::launched);
  if (kind == "launch_twice") {
    tell(Message::launch, two_sleepers(start.job_id));
  } else if (kind == "finish_twice") {
    tell(Message::finish, true);
    tell(Message::finish, true);
  } else if (kind == "as_daemon") {
    tell(Message::finished);
  } else if (kind == "cut") {
    put(header(3, Message::signal_ranks) + "abc");
  } else if (kind == "relay") {
    tell(Message::relay, std::vector<Span>{{0, 1}}, Message::relay, std::string());
  } else if (kind == "relay_twice") {
    tell(Message::relay, std::vector<Span>{{0, 1}, {0, 1}}, Message::call, std::string());
  } else if (!lie_alike(kind)) {
    give_up("there is no such lie");
  }
  see_it_hang_up(daemon);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string side = argc > 2 ? argv[1] : "";
  if (side == "daemon") be_daemon(argv[2]);
  if (side == "launcher" && argc > 3) be_launcher(argv[2], argv[3]);
  give_up("lying_end daemon KIND, or lying_end launcher TUTTID KIND");
}
