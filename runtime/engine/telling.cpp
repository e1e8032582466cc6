// SPDX-License-Identifier: BSD-3-Clause
// What the engine tells sinks of messages and of the lives of sends and receives (life/event.hpp). Nothing here runs while
// nobody listens; what is told is filled in here, and who posts, matches and completes says no more than when.
#include <initializer_list>

#include "engine/engine.hpp"

namespace tutti::engine {
namespace {

using life::Event;
using life::Happening;
using transport::Header;

uint64_t identity_of(const Operation* operation) {
  return reinterpret_cast<uintptr_t>(operation);
}
uint32_t serial_of(uint64_t context, uint32_t serial) {
  return is_hidden(context) ? serial + 1 : 0;
}
void tell(Event event, Happening what) TUTTI_ENGINE_OWNED {
  event.what = what;
  life::tell(event);
}
// All of what is over as soon as it is posted.
void tell_whole(Event event, std::initializer_list<Happening> of_message) TUTTI_ENGINE_OWNED {
  tell(event, Happening::operation_posted);
  for (const Happening what : of_message) tell(event, what);
  tell(event, Happening::operation_moved);
  tell(event, Happening::operation_over);
}

}  // namespace

Event Engine::event(Happening what, int process, const Header& header) const {
  return {.what = what,
          .by_helper = helper_drives(),
          .process = process,
          .source = header.source,
          .tag = header.tag,
          .serial = serial_of(header.context, header.serial),
          .context = header.context,
          .bytes = header.bytes};
}

void Engine::tell_posted(const RecvOperation& op) const {
  life::tell({.what = Happening::operation_posted,
              .by_helper = helper_drives(),
              .is_receive = true,
              .source = op.match.source,
              .tag = op.match.tag,
              .serial = serial_of(op.match.context, op.match.serial),
              .context = op.match.context,
              .bytes = op.payload.bytes(),
              .operation = identity_of(&op)});
}

void Engine::tell_sent(const SendOperation& op) const {
  Event told = event(Happening::operation_posted, op.peer, op.outgoing.header);
  told.operation = identity_of(&op);
  life::tell(told);
  tell(told, Happening::message_sent);
}

void Engine::tell_sent_to_self(const SendOperation& op, const Header& header, const RecvOperation* receive) const {
  Event told = event(Happening::operation_posted, process_, header);
  told.operation = identity_of(&op);
  life::tell(told);
  if (is_hidden(header.context)) return;
  told.is_receive = receive != nullptr;
  told.operation = identity_of(receive);
  tell(told, receive ? Happening::message_matched : Happening::message_unexpected);
}

void Engine::tell_sent_at_once(int to, const Header& header) const {
  tell_whole(event(Happening::operation_posted, to, header), {Happening::message_sent});
}

void Engine::tell_arrived(const Header& header, const RecvOperation* receive) const {
  Event told = event(Happening::message_arrived, header.process, header);
  told.is_receive = receive != nullptr;
  told.operation = identity_of(receive);
  life::tell(told);
  if (!is_hidden(header.context)) tell(told, receive ? Happening::message_matched : Happening::message_unexpected);
}

void Engine::tell_received_at_once(int from, const Header& header) const {
  Event told = event(Happening::operation_posted, from, header);
  told.is_receive = true;
  if (is_hidden(header.context))
    tell_whole(told, {Happening::message_arrived});
  else
    tell_whole(told, {Happening::message_arrived, Happening::message_matched});
}

// A receive has found its message waiting.
void Engine::tell_taken(const Header& header, const RecvOperation& op) const {
  tell_posted(op);
  if (is_hidden(header.context)) return;
  Event told = event(Happening::message_matched, header.process, header);
  told.is_receive = true;
  told.operation = identity_of(&op);
  life::tell(told);
}

void Engine::tell_sinks_over(const SendOperation& op, bool moved) const {
  Event told{.what = Happening::operation_moved,
             .by_helper = helper_drives(),
             .process = op.peer,
             .source = op.match.source,
             .tag = op.match.tag,
             .serial = serial_of(op.match.context, op.match.serial),
             .context = op.match.context,
             .bytes = op.payload.bytes(),
             .operation = identity_of(&op)};
  if (moved) life::tell(told);
  if (op.sent && op.matched) tell(told, Happening::operation_over);
}

void Engine::tell_sinks_over(const RecvOperation& op, int process, bool moved) const {
  Event told{.what = Happening::operation_moved,
             .by_helper = helper_drives(),
             .is_receive = true,
             .process = process,
             .source = process < 0 ? op.match.source : op.outcome.source,
             .tag = process < 0 ? op.match.tag : op.outcome.tag,
             .serial = serial_of(op.match.context, op.match.serial),
             .context = op.match.context,
             .bytes = op.outcome.bytes,
             .operation = identity_of(&op)};
  if (moved) life::tell(told);
  tell(told, Happening::operation_over);
}

}  // namespace tutti::engine
