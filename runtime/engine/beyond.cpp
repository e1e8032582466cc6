// SPDX-License-Identifier: BSD-3-Clause
// What the engine does for processes of other jobs: another transport while it runs, news within the job, and the
// end of what waits for a process that is gone.
#include <algorithm>

#include "engine/engine.hpp"

namespace tutti::engine {

void Engine::send_news(int to, int tag, uint64_t ticket) {
  struct News {
    transport::Outgoing outgoing;
    Engine* engine;
  };
  transport::Header header = next_header(to, transport::HeaderKind::message);
  header.context = kNewsContext;
  header.tag = tag;
  header.ticket = ticket;
  ++peer(to).told;
  auto* news = new News{{.header = header}, this};
  news->outgoing.payload = {nullptr, 0, &Layout::bytes()};
  news->outgoing.owner = news;
  news->outgoing.sent = [](transport::Outgoing& outgoing, Error) TUTTI_ENGINE_OWNED {
    auto* sent = static_cast<News*>(outgoing.owner);
    sent->engine->remove_pending();
    delete sent;
  };
  add_pending();
  transport_->send(to, news->outgoing);
}

void Engine::switch_transport(transport::Transport& transport) {
  if (&transport == transport_) return;
  waiter_.stay_awake();
  transport_ = &transport;
  transport_->set_receiver(*this);
  waiter_.switch_transport(transport_->descriptor());
}

bool Engine::fail(Names of_context, Names by_process, void* argument, int mpi_class) {
  bool any = false;
  // One at a time: what completes may withdraw others.
  for (;;) {
    RecvOperation* found = nullptr;
    matcher_.each_posted([&](const RecvOperation& receive) {
      if (!found && of_context(argument, receive.match.context)) found = const_cast<RecvOperation*>(&receive);
    });
    if (!found) break;
    matcher_.withdraw(*found);
    found->outcome = {.mpi_class = mpi_class};
    tell_over(*found, -1, false);
    --pending_;
    ++events_;
    found->on_complete(*found);
    any = true;
  }
  for (;;) {
    const auto found = std::ranges::find_if(tickets_, [&](const auto& ticket) {
      return !ticket.second->matched && by_process(argument, static_cast<uint64_t>(ticket.second->peer));
    });
    if (found == tickets_.end()) break;
    SendOperation& send = *found->second;
    send.outcome.mpi_class = mpi_class;
    send.matched = true;
    send_progressed(send, false);
    any = true;
  }
  return any;
}

}  // namespace tutti::engine
