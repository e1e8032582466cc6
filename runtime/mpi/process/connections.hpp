// SPDX-License-Identifier: BSD-3-Clause
// The connections that this process has with other jobs, once they are there: who stands on which side, how the roots
// watch each other, what their sides are told of the other's end, and what ends with it. connection.cpp makes them.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "base/engine_owned.hpp"
#include "engine/wait/poller.hpp"
#include "life/condition.hpp"
#include "transport/transport.hpp"

namespace tutti::engine {
class Engine;
}

namespace tutti::mpi::processes {

// The tags of what a root tells its side of a connection; and what MPI_Abort tells the processes of other jobs.
enum News : int { lost = 1, left = 2, aborted = 3 };

struct Connection {
  uint64_t context = 0;
  std::vector<int> local, remote;  // process numbers
  int root = -1;                   // of `local`
  int lifeline = -1;               // at the root alone
  std::thread watcher;             // the same
  bool over = false;               // the other side has bidden farewell, or is gone; changed by the engine's owner
  bool lost = false;               // gone, without a farewell, or without having waited for this side's
  bool parts = false;              // this side has bidden farewell
};

// What a process of this job knows of connections.
class Connections final : public engine::Poller {
 public:
  void add(std::unique_ptr<Connection> connection) TUTTI_ENGINE_OWNED;
  std::unique_ptr<Connection> take(uint64_t context) TUTTI_ENGINE_OWNED;
  Connection* find(uint64_t context) const TUTTI_ENGINE_OWNED;
  bool all_over() const TUTTI_ENGINE_OWNED {
    return std::ranges::all_of(connections_, [](const auto& each) { return each.second->over; });
  }
  bool empty() const TUTTI_ENGINE_OWNED { return connections_.empty(); }
  // Who has to act until all are over.
  void add_needs(life::Condition& needs) const TUTTI_ENGINE_OWNED;
  template <class Visit>
  void each(Visit&& visit) TUTTI_ENGINE_OWNED {
    for (auto& [context, connection] : connections_) visit(*connection);
  }
  // Of the connection with this context, which this process may not have heard of yet.
  void hear(News news, uint64_t context) TUTTI_ENGINE_OWNED;
  // A rank of this job has failed: connections of which it was the root are lost, for nobody hears of the others.
  void lose_root(int process) TUTTI_ENGINE_OWNED;
  // That process ends its job, and wants this one to end with it. The root of the connection does so when the other job
  // is gone: its launcher has said why by then. One that this job has started would end with it and say nothing.
  void end_with(int process, int code) TUTTI_ENGINE_OWNED;
  bool is_to_end(uint64_t context) const TUTTI_ENGINE_OWNED;
  // As the root: to all members of this side, and to oneself.
  void tell(Connection& connection, News news) TUTTI_ENGINE_OWNED;

  // ---- when somebody is gone: looks in each pass for what waits for him.
  bool poll() override TUTTI_ENGINE_OWNED;

 private:
  void lose(const Connection& connection) TUTTI_ENGINE_OWNED;
  void end_if_told(const Connection& connection, int process) const TUTTI_ENGINE_OWNED;

  std::map<int, int> ending_;  // by process that ends its job: the code
  std::map<uint64_t, std::unique_ptr<Connection>> connections_;
  std::map<uint64_t, News> early_;
  const engine::Engine* polled_by_ = nullptr;  // since somebody is gone
};

Connections& connections();
// From the first one on: this process hears of connections, and ends those it is connected with by a fatal error.
void hear_of_connections() TUTTI_ENGINE_OWNED;
// The root's look at the other root, until that is gone, on a thread of its own.
void watch_lifeline(Connection& connection);

}  // namespace tutti::mpi::processes
