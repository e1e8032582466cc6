// SPDX-License-Identifier: BSD-3-Clause
// What the engine does for processes that may end before this one does, of other jobs and of its own: another transport
// while it runs, news within the job, and the end of what waits for a process that is gone or is refused.
#include <algorithm>
#include <vector>

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

void Engine::recv_judged(RecvOperation& op) {
  if (const int refused = judge_->refuses(op.match)) {
    op.outcome = {.mpi_class = refused};
    op.posted = false;
    ++events_;
    return op.on_complete(op);
  }
  if (matcher_.unexpected() > 0 && receive_unexpected(op)) return;
  ++pending_;
  matcher_.post(op);
  if (life::is_wanted(life::Happening::operation_posted)) [[unlikely]]
    tell_posted(op);
  judge_->posted(op);
}

void Engine::fail(RecvOperation& receive, int mpi_class) {
  matcher_.withdraw(receive);
  receive.outcome = {.mpi_class = mpi_class};
  tell_over(receive, -1, false);
  --pending_;
  ++events_;
  receive.on_complete(receive);
}

void Engine::fail_answers_of(int process, int mpi_class) {
  fail([](void*, uint64_t) { return false; },
       [](void* whose, uint64_t peer) { return peer == *static_cast<uint64_t*>(whose); },
       std::vector<uint64_t>{static_cast<uint64_t>(process)}.data(), mpi_class);
}

void Engine::withdraw_sends(uint64_t context, int mpi_class) {
  std::vector<SendOperation*> all;
  for (auto& [send, refused] : sends_)
    if (send->match.context == context && refused == 0) {
      refused = mpi_class;
      all.push_back(send);
    }
  for (SendOperation* const each : all)
    if (sends_.contains(each)) cancel(*each);
  // To this process itself: they wait among the unexpected messages.
  for (;;) {
    SendOperation* own = nullptr;
    matcher_.each_unexpected([&](const Unexpected& message) {
      if (message.from_self && message.header.context == context) own = message.from_self;
    });
    if (!own) return;
    matcher_.take_ticket(process_, own->ticket);
    own->outcome = {.mpi_class = mpi_class};
    own->sent = own->matched = true;
    tell_over(*own, false);
    --pending_;
    ++events_;
    own->on_complete(*own);
  }
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
    fail(*found, mpi_class);
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
