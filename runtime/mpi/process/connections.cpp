// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/process/connections.hpp"

#include <mpi-ext.h>
#include <mpi.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <set>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/os/own_threads.hpp"
#include "base/signals.hpp"
#include "boot/joining.hpp"
#include "contract/signature.hpp"
#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "functions.hpp"
#include "members/processes.hpp"
#include "mpi/coll/collective_start.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/other_jobs.hpp"
#include "mpi/object/process.hpp"
#include "mpi/process/connection.hpp"
#include "mpi/process/parent.hpp"
#include "transport/router.hpp"

namespace tutti::mpi::processes {
namespace {

using engine::Engine;

constexpr char kFarewell = 'F';
// The same in MPI_Finalize, which goes on until it is answered: the end of the lifeline before that is no good end.
constexpr char kFinalizes = 'Z';
// The root's job ends, and wants the other one to end with it; the code follows. What other ranks say of that comes by
// messages, which may be behind the end of the lifeline.
constexpr char kAborts = 'A';

// A process of another job. A rank of the own one ends the job.
bool is_gone(int process) {
  const members::Processes& all = *::tutti::mpi::process().processes;
  return all.is_foreign(process) && all.has_failed(process);
}

}  // namespace

Connections& connections() {
  static auto& all = *new Connections;  // threads may look at it during exit
  return all;
}

void Connections::add(std::unique_ptr<Connection> connection) {
  const uint64_t context = connection->context;
  connections_[context] = std::move(connection);
  if (const auto early = early_.find(context); early != early_.end()) {
    const News news = early->second;
    early_.erase(early);
    hear(news, context);
  }
}

Connection* Connections::find(uint64_t context) const {
  const auto at = connections_.find(context);
  return at == connections_.end() ? nullptr : at->second.get();
}

std::unique_ptr<Connection> Connections::take(uint64_t context) {
  const auto at = connections_.find(context);
  if (at == connections_.end()) return nullptr;
  std::unique_ptr<Connection> taken = std::move(at->second);
  connections_.erase(at);
  return taken;
}

void Connections::hear(News news, uint64_t context) {
  Connection* connection = find(context);
  if (!connection) {
    early_[context] = news;
    return;
  }
  if (connection->lost || (connection->over && news == News::left)) return;
  connection->over = true;
  connection->lost = news == News::lost;
  if (connection->lost) lose(*connection);
  engine_of_process().note_event();
}

void Connections::tell(Connection& connection, News news) {
  if (connection.lost || (connection.over && news == News::left)) return;
  for (const int member : connection.local)
    if (member != my_process()) engine_of_process().send_news(member, news, connection.context);
  hear(news, connection.context);
}

void Connections::lose_root(int process) {
  std::vector<uint64_t> contexts;
  for (const auto& [context, connection] : connections_)
    if (connection->root == process && !connection->over) contexts.push_back(context);
  for (const uint64_t context : contexts) hear(News::lost, context);
}

void Connections::end_with(int process, int code) {
  ending_[process] = code;
  for (const auto& [context, connection] : connections_)
    if (connection->over && is_gone(process) && std::ranges::count(connection->remote, process))
      end_if_told(*connection, process);
}

// The other side's root says farewell once all of its job have called MPI_Finalize. Which one is that root is not known
// here: as long as one of them is alive, it may be. The others of this side hear of it by their root.
void Connections::add_needs(life::Condition& needs) const {
  for (const auto& [context, connection] : connections_) {
    if (connection->over) continue;
    if (connection->lifeline < 0) {
      connection->root == my_process() ? void(needs.always()) : void(needs.process(connection->root));
      continue;
    }
    // Of a word that has come and is about to be heard: who has said it may be gone, and is not asked any more.
    pollfd word{connection->lifeline, POLLIN, 0};
    if (::poll(&word, 1, 0) != 0) {
      needs.always();
      continue;
    }
    needs.any();
    for (const int process : connection->remote) needs.process(process);
    needs.end();
  }
}

bool Connections::is_to_end(uint64_t context) const {
  const Connection* const connection = find(context);
  return connection && std::ranges::any_of(connection->remote, [this](int other) { return ending_.contains(other); });
}

void Connections::end_if_told(const Connection& connection, int process) const {
  const auto told = ending_.find(process);
  const bool by_root = connection.lifeline < 0 && !::tutti::mpi::process().processes->is_foreign(connection.root);
  if (told == ending_.end() || by_root) return;
  ::tutti::mpi::own_job().abort(
      told->second, fmt::format("{} has ended its job and this one, which is connected with it, with code {}",
                                ::tutti::mpi::process().processes->text(process), told->second));
}

void Connections::lose(const Connection& connection) {
  Process& p = ::tutti::mpi::process();
  if (std::exchange(polled_by_, p.engine.get()) != p.engine.get()) p.engine->add_poller(*this);
  for (const int process : connection.remote) {
    if (!p.processes->is_foreign(process)) continue;
    p.processes->report(process, members::State::failed, "is gone, as its job is");
    if (!p.survivor) p.transport->take_changes();  // who takes them in its next pass: a ring may be read at this moment
    end_if_told(connection, process);
  }
  poll();
}

bool Connections::poll() {
  Process& p = process();
  std::unordered_set<uint64_t> broken;  // contexts of users' channels
  {
    const Lock lock(p.spanning_mutex);
    for (const auto& [context, comm] : p.spanning)
      if (std::ranges::any_of(comm->user.peers, is_gone) || std::ranges::any_of(comm->hidden.peers, is_gone))
        broken.insert(context);
  }
  return p.engine->fail(
      [](void* contexts, uint64_t context) {
        return engine::spans_jobs(context) &&
               static_cast<std::unordered_set<uint64_t>*>(contexts)->contains(context & ~uint64_t{1});
      },
      [](void*, uint64_t peer) { return is_gone(static_cast<int>(peer)); }, &broken,
      p.survivor ? int{MPIX_ERR_PROC_FAILED} : int{MPI_ERR_PROC_ABORTED});
}

namespace {

void on_news(const transport::Header& header) TUTTI_ENGINE_OWNED {
  if (header.tag == News::aborted) return connections().end_with(header.process, static_cast<int>(header.ticket));
  connections().hear(static_cast<News>(header.tag), header.ticket);
}

bool is_to_end(uint64_t context) {
  const Engine::Guard own(engine_of_process());
  return connections().is_to_end(context);
}
bool has_parted(uint64_t context) {
  const Engine::Guard own(engine_of_process());
  const Connection* const connection = connections().find(context);
  return !connection || connection->parts;
}

void take_word(int lifeline) {
  char word = 0;
  [[maybe_unused]] const ssize_t n = ::recv(lifeline, &word, 1, MSG_DONTWAIT);
}

// The root's look at the lifeline. Ends when it does.
void watch(uint64_t context, int lifeline) {
  bool farewell = false, waits = false;  // for the farewell of this side
  for (;;) {
    char word = 0;
    pollfd one{lifeline, POLLIN, 0};
    if (::poll(&one, 1, -1) < 0 && errno == EINTR) continue;
    const ssize_t n = ::recv(lifeline, &word, 1, MSG_DONTWAIT | MSG_PEEK);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    const bool end = n <= 0;
    if (!end && word == kAborts) {
      int32_t code = 0;
      take_word(lifeline);
      if (::recv(lifeline, &code, sizeof code, MSG_WAITALL) != sizeof code) continue;
      const Engine::Guard own(engine_of_process());
      if (const Connection* connection = connections().find(context))
        connections().end_with(connection->remote.front(), code);
      continue;
    }
    if (!end) farewell |= word == kFarewell || word == kFinalizes;
    if (!end) waits |= word == kFinalizes;
    if (end && waits && !has_parted(context)) farewell = false;
    if (end && !farewell && is_to_end(context)) await_launcher(context);
    {
      const Engine::Guard own(engine_of_process());
      if (!end) take_word(lifeline);  // not before it is heard: Connections::add_needs() looks for it
      if (Connection* connection = connections().find(context))
        connections().tell(*connection, farewell ? News::left : News::lost);
    }
    if (end) return;
  }
}

void say_farewell(Connection& connection, char word) {
  connection.parts = true;
  if (connection.lifeline < 0) return;
  [[maybe_unused]] const ssize_t n = ::send(connection.lifeline, &word, 1, MSG_NOSIGNAL);
}

void say_that_it_aborts(const Connection& connection, int32_t code) {
  if (connection.lifeline < 0) return;
  char words[1 + sizeof code] = {kAborts};
  std::memcpy(words + 1, &code, sizeof code);
  [[maybe_unused]] const ssize_t n = ::send(connection.lifeline, words, sizeof words, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Without the engine: the watcher may want it.
void close_lifeline(Connection& connection) {
  if (connection.lifeline < 0) return;
  ::shutdown(connection.lifeline, SHUT_RDWR);
  if (connection.watcher.joinable()) connection.watcher.join();
  ::close(connection.lifeline);
}

void end_others(int code, bool owned);

}  // namespace

void hear_of_connections() {
  engine_of_process().set_news_handler(on_news);
  other_jobs.end.store(end_others, std::memory_order_release);
}

void watch_lifeline(Connection& connection) {
  const SignalsBlocked none;
  try {
    connection.watcher = std::thread([context = connection.context, lifeline = connection.lifeline] {
      const OwnThread own;
      watch(context, lifeline);
    });
  } catch (const std::system_error& e) {
    say(Level::warning,
        "there is no thread to hear of the end of a connected job ({}): a limit on processes may be "
        "too low",
        e.what());
  }
}

Error part(Comm& comm) {
  {
    const Engine::Guard own(engine_of_process());
    if (!connections().find(comm.context())) return {};
  }
  // All of both sides have called. If one side is gone there is nobody to wait for.
  Error gone = run(
      comm, coll::Call{.kind = coll::Collective::barrier, .signature = contract::word_of(Function::Comm_disconnect)});
  std::unique_ptr<Connection> connection;
  {
    const Engine::Guard own(engine_of_process());
    connection = connections().take(comm.context());
  }
  say_farewell(*connection, kFarewell);
  close_lifeline(*connection);
  const int why = gone ? gone.mpi_class() : int{MPI_SUCCESS};
  return why == MPI_ERR_PROC_ABORTED || why == MPIX_ERR_PROC_FAILED ? Error() : std::move(gone);
}

void part_from_all() {
  Engine& engine = engine_of_process();
  {
    const Engine::Guard own(engine);
    if (connections().empty()) return;
    connections().each([](Connection& connection) { say_farewell(connection, kFinalizes); });
    engine.wait_until([]() TUTTI_ENGINE_OWNED { return connections().all_over(); },
                      [](life::Condition& needs) TUTTI_ENGINE_OWNED { connections().add_needs(needs); });
  }
  std::vector<std::unique_ptr<Connection>> ended;
  {
    const Engine::Guard own(engine);
    std::vector<uint64_t> contexts;
    connections().each([&](const Connection& connection) { contexts.push_back(connection.context); });
    for (const uint64_t context : contexts) ended.push_back(connections().take(context));
  }
  for (auto& connection : ended) close_lifeline(*connection);
}

namespace {

// `waits`: until they are told, or nobody hears for some time, who hears of this job's end then.
void tell_to_end(const std::set<int>& processes, int code, bool waits) TUTTI_ENGINE_OWNED {
  constexpr std::chrono::seconds kPatience{2};
  Engine& engine = engine_of_process();
  for (const int other : processes)
    if (process().processes->is_foreign(other)) engine.send_news(other, News::aborted, static_cast<uint32_t>(code));
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (waits && !engine.transport().flushed() && std::chrono::steady_clock::now() < until) engine.progress();
}

// All that are connected. Whoever owns the engine may be in the middle of a pass: nothing is driven then. Not proven:
// it takes the engine where it is not owned.
void end_others(int code, bool owned) TUTTI_NOT_PROVEN {
  Engine& engine = engine_of_process();
  if (!owned) engine.enter();
  std::set<int> others;
  connections().each([&](const Connection& connection) {
    if (connection.lost) return;  // one that has bidden farewell waits in MPI_Finalize for this one's
    others.insert(connection.remote.begin(), connection.remote.end());
    say_that_it_aborts(connection, code);
  });
  tell_to_end(others, code, !owned);
  if (!owned) engine.leave();
}

}  // namespace

void abort_connected(const Comm& comm, int code) {
  const Engine::Guard own(engine_of_process());
  tell_to_end({comm.hidden.peers.begin(), comm.hidden.peers.end()}, code, true);
}

}  // namespace tutti::mpi::processes
