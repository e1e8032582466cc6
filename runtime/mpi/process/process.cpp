// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/object/process.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/mutex.hpp"
#include "contract/ledger.hpp"
#include "engine/engine.hpp"
#include "functions.hpp"
#include "members/processes.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/comm/making.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/object/other_jobs.hpp"
#include "mpi/process/api_process.hpp"
#include "mpi/process/beside.hpp"
#include "mpi/process/connection.hpp"
#include "mpi/process/names.hpp"
#include "mpi/process/parent.hpp"
#include "mpi/process/port.hpp"
#include "mpi/request/under_way.hpp"

namespace tutti::mpi::processes {
namespace {

// The ports that this process has opened and not closed. They are never destroyed, because threads of the program may
// be in calls of MPI while it exits.
struct Ports {
  Mutex mutex;
  std::map<std::string, std::shared_ptr<Port>> open TUTTI_GUARDED_BY(mutex);  // by name
  std::chrono::milliseconds patience{
      0};  // of who connects to others': the setting, known from MPI_Init on; 0: for ever
};
Ports& ports() {
  static auto& only = *new Ports;
  return only;
}

std::shared_ptr<Port> find_port(const std::string& name) {
  const Lock lock(ports().mutex);
  const auto at = ports().open.find(name);
  return at == ports().open.end() ? nullptr : at->second;
}

Error give(Result<Ref<Comm>> made, MPI_Comm* handle) {
  if (!made) return std::move(made).error();
  (*made)->handle = handle_of(**made);
  (*made)->retain();  // the handle's
  *handle = inventory::hand_out(**made);
  return {};
}

// What the hint `timeout` says, in seconds.
Result<TimeLimit> patience_of(const Info* info, TimeLimit without) {
  const std::optional<std::string> given = info ? info->get("timeout") : std::nullopt;
  if (!given) return without;
  int seconds = 0;
  const char* const end = given->data() + given->size();
  const auto [stop, problem] = std::from_chars(given->data(), end, seconds);
  if (problem != std::errc() || stop != end || seconds < 1)
    return failure(MPI_ERR_INFO_VALUE, "the hint 'timeout' is '{}', which is no number of seconds (argument info)",
                   *given);
  return TimeLimit(std::chrono::seconds(seconds));
}

void copy_out(const std::string& name, char* into) {
  std::memcpy(into, name.c_str(), std::min<size_t>(name.size() + 1, MPI_MAX_PORT_NAME));
}

// The leaders of MPI_Intercomm_create connect as MPI_Comm_accept and MPI_Comm_connect do, at a port of their own.
Result<Ref<Comm>> join_over_port(Comm& local, int leader, bool accepts, const Swap& swap) {
  std::shared_ptr<Port> port;
  std::string theirs;
  Error problem;
  if (local.rank() == leader) {
    Result<std::shared_ptr<Port>> opened = accepts ? Port::open() : std::shared_ptr<Port>();
    if (opened)
      port = *std::move(opened);
    else
      problem = std::move(opened).error();
    theirs = swap(port ? port->name() : "");
  }
  return join_groups(local, leader, accepts, Function::Intercomm_create, [&](int gives_up) -> Result<Socket> {
    if (problem) return std::move(problem);
    if (!accepts && theirs.empty()) return failure(MPI_ERR_OTHER, "the other leader could not open a port");
    return accepts ? port->accept(gives_up) : connect_to_port(theirs, std::nullopt, nullptr, gives_up);
  });
}
[[gnu::constructor]] void offer_to_join() {
  other_jobs.join_apart = join_over_port;
}

}  // namespace

void set_connect_timeout(std::chrono::milliseconds time) {
  ports().patience = time;
}

Error open_port(Info*, char* port_name) {
  Result<std::shared_ptr<Port>> port = Port::open();
  if (!port) return std::move(port).error();
  copy_out((*port)->name(), port_name);
  const Lock lock(ports().mutex);
  ports().open[(*port)->name()] = *port;
  return {};
}

Error close_port(const char* port_name) {
  const Lock lock(ports().mutex);
  if (ports().open.erase(port_name) == 0)
    return failure(MPI_ERR_PORT, "this process has opened no such port, or has closed it already (argument port_name)");
  return {};
}

Error comm_accept(const char* port_name, Info* info, int root, Comm& comm, MPI_Comm* newcomm) {
  *newcomm = MPI_COMM_NULL;
  return give(join_groups(comm, root, true, Function::Comm_accept,
                          [&](int gives_up) -> Result<Socket> {
                            const std::shared_ptr<Port> port = port_name ? find_port(port_name) : nullptr;
                            if (!port)
                              return failure(MPI_ERR_PORT,
                                             "the root has opened no such port, or has closed it (argument port_name)");
                            Result<TimeLimit> patience = patience_of(info, std::nullopt);
                            if (!patience) return std::move(patience).error();
                            return port->accept(gives_up, *patience);
                          }),
              newcomm);
}

Error comm_connect(const char* port_name, Info* info, int root, Comm& comm, MPI_Comm* newcomm) {
  *newcomm = MPI_COMM_NULL;
  Awaited awaited = kNobody;
  return give(join_groups(
                  comm, root, false, Function::Comm_connect,
                  [&](int gives_up) -> Result<Socket> {
                    if (!port_name) return failure(MPI_ERR_PORT, "the name is NULL (argument port_name)");
                    Result<TimeLimit> patience =
                        patience_of(info, ports().patience.count() ? TimeLimit(ports().patience) : std::nullopt);
                    if (!patience) return std::move(patience).error();
                    const bool has_limit = info && info->get("timeout");  // which the program deals with
                    return connect_to_port(port_name, *patience, has_limit ? nullptr : &awaited, gives_up);
                  },
                  &awaited),
              newcomm);
}

// Both ends of the program's socket are equal: who draws the higher number accepts. The socket stays the program's,
// with nothing left in it; what the connection needs of its own is a port that one end tells the other.
Error comm_join(int fd, MPI_Comm* intercomm) {
  *intercomm = MPI_COMM_NULL;
  int kind = 0;
  socklen_t length = sizeof kind;
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &length) != 0)
    return failure(MPI_ERR_ARG, "{} is no descriptor of a socket: {} (argument fd)", fd, std::strerror(errno));
  if (kind != SOCK_STREAM)
    return failure(MPI_ERR_ARG, "the socket {} is not of the type SOCK_STREAM (argument fd)", fd);
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (copy < 0)
    return failure(MPI_ERR_OTHER, "another descriptor of the socket {} cannot be had: {}", fd, std::strerror(errno));
  Socket shared(copy);
  Result<std::shared_ptr<Port>> port = Port::open();
  if (!port) return std::move(port).error();
  Result<std::string> theirs = beside([&]() -> Result<std::string> {
    if (Error e = shared.send((*port)->name())) return e;
    return shared.receive(MPI_MAX_PORT_NAME);
  });
  if (!theirs) return std::move(theirs).error().within("over the program's socket");
  const bool accepts = (*port)->name() > *theirs;
  return give(
      join_groups(*current.self, 0, accepts, Function::Comm_join,
                  [&](int) -> Result<Socket> { return accepts ? (*port)->accept() : connect_to_port(*theirs); }),
      intercomm);
}

namespace {

// What the other job has sent on it and nobody here has received: its sender has come to the end of the connection.
void note_cut_off(const Comm& comm) {
  const Process& p = comm.process;
  std::map<std::pair<int, int>, int> left;  // by source and tag
  {
    const engine::Engine::Guard own(*p.engine);
    p.engine->matcher().each_unexpected([&](const engine::Unexpected& message) {
      const transport::Header& h = message.header;
      if (h.context == comm.context() && p.processes->is_foreign(h.process)) ++left[{h.source, h.tag}];
    });
  }
  for (const auto& [from, count] : left)
    for (int i = 0; i < count; ++i)
      strict->tells_at_end(contract::NoteKind::cut_off_message, here(),
                           fmt::format("from rank {} of the other group with tag {}", from.first, from.second));
}

}  // namespace

Error comm_disconnect(MPI_Comm* comm) {
  Comm& object = *resolve<Comm>(*comm);
  await_communication(object);
  if (Error e = part(object)) return e;
  if (strict) [[unlikely]]
    note_cut_off(object);
  let_children_be(object.context());
  return free_communicator(comm, Function::Comm_disconnect);
}

Error publish_name(const char* service_name, Info*, const char* port_name) {
  return names::publish(service_name, port_name);
}

Error unpublish_name(const char* service_name, Info*, const char* port_name) {
  return names::unpublish(service_name, port_name ? port_name : "");
}

Error lookup_name(const char* service_name, Info*, char* port_name) {
  Result<std::string> port = names::look_up(service_name);
  if (!port) return std::move(port).error();
  copy_out(*port, port_name);
  return {};
}

Error comm_get_parent(MPI_Comm* parent) {
  *parent = process().parent;
  return {};
}

Error meet_parent() {
  const char* given = std::getenv(kParentVariable);
  if (!given) return {};
  const std::string port = given;
  ::unsetenv(kParentVariable);  // programs that this one starts have other parents
  Result<Ref<Comm>> made =
      join_groups(*current.world, 0, false, Function::Comm_get_parent, [&](int) { return connect_to_port(port); });
  if (!made) return std::move(made).error().within("connecting to the processes that have spawned this job");
  // Not by the inventory: a program need not free what it has not made.
  (*made)->retain();  // the handle's
  process().parent = (*made)->handle = handle_of(**made);
  (*made)->set_name("MPI_COMM_PARENT");
  return {};
}

void leave_connected_jobs() {
  part_from_all();
  let_children_be();
  names::unpublish_all();
  const Lock lock(ports().mutex);
  ports().open.clear();
}

}  // namespace tutti::mpi::processes
