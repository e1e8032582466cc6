// SPDX-License-Identifier: BSD-3-Clause
// Operations that others have started: served as their messages come.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/fault_point.hpp"
#include "base/log.hpp"
#include "engine/engine.hpp"
#include "memory/movers.hpp"
#include "rma/paths/message.hpp"

namespace tutti::rma {

using engine::Operation;
using engine::RecvOperation;
using engine::SendOperation;

namespace {

// As long as its layout, which is nullptr for one run of bytes, is held.
TargetBuffer buffer_of(const OperationHead& head, const LayoutRef& layout) {
  return {head.displacement, head.count, layout ? layout.get() : &Layout::bytes()};
}

}  // namespace

// Long data on its way to or from this process' memory.
struct MessagePath::Serving {
  MessagePath& path;
  const int origin;
  const LayoutRef layout;
  std::unique_ptr<std::byte[]> scrap;  // takes what must not go to memory
  SendOperation send;
  RecvOperation receive;
};

// A long update: pieces come into two buffers by turns, so that one is applied while the next
// comes.
struct MessagePath::LongUpdate {
  LongUpdate(MessagePath& path, int origin, uint32_t serial, const OperationHead& head, LayoutRef layout, bool good)
      : path(path), origin(origin), serial(serial), head(head), layout(std::move(layout)), good(good) {
    const int64_t size = path.arithmetic_.layout(head.act.update.element).size();
    length = kPiece / size * size;
    pieces = (head.bytes + length - 1) / length;
    for (auto& buffer : buffers)
      if (carries(head.act)) buffer = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(length));
  }

  void start() TUTTI_ENGINE_OWNED {
    if (!carries(head.act)) {
      for (int64_t i = 0; i < pieces; ++i) apply(i);
      return path.long_update_over(*this);
    }
    goes_on = true;  // receiving may complete at once, and end it all
    receive(0);
    goes_on = false;
    go_on();
  }

 private:
  struct Answer {
    SendOperation send;
    std::unique_ptr<std::byte[]> bytes;
    MessagePath* path;
    int origin;
  };

  int64_t bytes_of(int64_t piece) const { return std::min(length, head.bytes - piece * length); }

  void receive(int64_t piece) TUTTI_ENGINE_OWNED {
    operation.payload = {buffers[static_cast<size_t>(piece % 2)].get(), bytes_of(piece), &Layout::bytes()};
    operation.match = {path.data_.context, origin, data_tag(piece, false), serial};
    operation.owner = this;
    operation.on_complete = [](Operation& o) TUTTI_ENGINE_OWNED {
      auto& self = *static_cast<LongUpdate*>(o.owner);
      self.path.receiving_.erase(&self.operation);
      self.is_here = true;
      self.is_lost = self.is_lost || o.outcome.mpi_class != 0 || o.outcome.cancelled;
      self.go_on();
    };
    path.receive(operation);
  }

  // Receiving may complete at once: a loop, not a recursion.
  void go_on() TUTTI_ENGINE_OWNED {
    if (goes_on) return;
    goes_on = true;
    while (is_here) {
      is_here = false;
      const int64_t piece = received++;
      if (is_lost) received = pieces;
      if (received < pieces) receive(received);
      apply(piece);
    }
    goes_on = false;
    if (received == pieces) path.long_update_over(*this);
  }

  void apply(int64_t piece) TUTTI_ENGINE_OWNED {
    if (!good || is_lost) return;
    const int64_t bytes = bytes_of(piece);
    std::unique_ptr<std::byte[]> old;
    if (head.act.fetches) old = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes));
    carry_out(path.arithmetic_, head.act.update, path.target_.memory().at(buffer_of(head, layout)), piece * length,
              buffers[static_cast<size_t>(piece % 2)].get(), bytes, old.get(), path.target_.memory().guard());
    TUTTI_FAULT_POINT("update.piece_applied");
    if (old) answer(piece, std::move(old), bytes);
  }

  void answer(int64_t piece, std::unique_ptr<std::byte[]> held, int64_t bytes) TUTTI_ENGINE_OWNED {
    auto* old = new Answer;
    old->bytes = std::move(held);
    old->path = &path;
    old->origin = origin;
    old->send.payload = {old->bytes.get(), bytes, &Layout::bytes()};
    old->send.peer = path.data_.process_of(origin);
    old->send.match = {path.data_.context, path.data_.rank, data_tag(piece, true), serial};
    old->send.owner = old;
    old->send.on_complete = [](Operation& o) TUTTI_ENGINE_OWNED {
      const std::unique_ptr<Answer> done(static_cast<Answer*>(o.owner));
      done->path->end_serving(done->origin);
    };
    path.target_.begins(origin);
    path.engine_.send(old->send);
  }

 public:
  MessagePath& path;
  const int origin;
  const uint32_t serial;
  const OperationHead head;
  const LayoutRef layout;
  const bool good;

 private:
  int64_t length = 0, pieces = 0, received = 0;
  std::array<std::unique_ptr<std::byte[]>, 2> buffers;
  RecvOperation operation;
  bool is_here = false, goes_on = false;
  bool is_lost = false;  // a piece has not come: its origin has failed
};

void MessagePath::serve(int origin, uint32_t serial, uint64_t mark, std::span<const std::byte> bytes) {
  OperationHead head;
  LayoutRef layout;
  bool whole = tutti::get(bytes, head) && bytes.size() >= head.layout_bytes;
  if (whole && head.layout_bytes > 0) {
    std::span<const std::byte> wire = bytes.first(head.layout_bytes);
    layout = Layout::read(wire);
    bytes = bytes.subspan(head.layout_bytes);
    whole = layout != nullptr;
  }
  TUTTI_INVARIANT(whole, "a one-sided operation is cut short");
  TUTTI_FAULT_POINT("operation.arrived");
  if (closed_) [[unlikely]]
    return;
  const Error refusal = target_.admit(origin, head.act, buffer_of(head, layout), mark);
  const bool good = !refusal;
  if (refusal) [[unlikely]]
    send_failure(origin, serial, refusal);
  switch (head.act.kind) {
    case AccessKind::put:
      return serve_put(origin, serial, head, std::move(layout), bytes.data(), good);
    case AccessKind::get:
      return good ? serve_get(origin, serial, head, std::move(layout)) : void();
    case AccessKind::update:
      return serve_update(origin, serial, head, std::move(layout), bytes, good);
  }
}

// ---- puts and gets

void MessagePath::serve_put(int origin, uint32_t serial, const OperationHead& head, LayoutRef layout,
                            const std::byte* data, bool good) {
  const Payload into = target_.memory().at(buffer_of(head, layout));
  if (!follows(head)) {
    if (good) memory::unpack(into, 0, data, head.bytes);
    return;
  }
  target_.begins(origin);
  auto* serving = new Serving{*this, origin, layout};
  serving->receive.payload = into;
  if (!good) {
    serving->scrap = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(head.bytes));
    serving->receive.payload = {serving->scrap.get(), head.bytes, &Layout::bytes()};
  }
  serving->receive.match = {data_.context, origin, data_tag(0, false), serial};
  serving->receive.owner = serving;
  serving->receive.on_complete = [](Operation& o) TUTTI_ENGINE_OWNED {
    const std::unique_ptr<Serving> done(static_cast<Serving*>(o.owner));
    done->path.receiving_.erase(&done->receive);
    done->path.end_serving(done->origin);
  };
  receive(serving->receive);
}

void MessagePath::serve_get(int origin, uint32_t serial, const OperationHead& head, LayoutRef layout) {
  const Payload from = target_.memory().at(buffer_of(head, layout));
  if (!follows(head)) {
    Bytes data(static_cast<size_t>(head.bytes));
    memory::pack(from, 0, data.data(), head.bytes);
    return emit(origin, tag_of(WindowMessage::reply), serial, data);
  }
  TUTTI_FAULT_POINT("get.served");
  target_.begins(origin);
  auto* serving = new Serving{*this, origin, std::move(layout)};
  serving->send.payload = from;
  serving->send.peer = data_.process_of(origin);
  serving->send.match = {data_.context, data_.rank, data_tag(0, true), serial};
  serving->send.owner = serving;
  serving->send.on_complete = [](Operation& o) TUTTI_ENGINE_OWNED {
    const std::unique_ptr<Serving> done(static_cast<Serving*>(o.owner));
    done->path.end_serving(done->origin);
  };
  engine_.send(serving->send);
}

// ---- updates, in the order of their origin

void MessagePath::serve_update(int origin, uint32_t serial, const OperationHead& head, LayoutRef layout,
                               std::span<const std::byte> data, bool good) {
  std::deque<Queued>& updates = updates_[origin];
  if (updates.empty() && !follows(head)) {
    if (good) apply(origin, serial, head, layout, data.data());
    return;
  }
  target_.begins(origin);
  updates.push_back({serial, head, std::move(layout), Bytes(data.begin(), data.end()), good});
  if (updates.size() == 1) run_updates(origin);
}

void MessagePath::apply(int origin, uint32_t serial, const OperationHead& head, const LayoutRef& layout,
                        const std::byte* data) {
  Bytes old(head.act.fetches ? static_cast<size_t>(head.bytes) : 0);
  carry_out(arithmetic_, head.act.update, target_.memory().at(buffer_of(head, layout)), 0, data, head.bytes,
            head.act.fetches ? old.data() : nullptr, target_.memory().guard());
  if (head.act.fetches) emit(origin, tag_of(WindowMessage::reply), serial, old);
}

void MessagePath::run_updates(int origin) {
  std::deque<Queued>& updates = updates_[origin];
  while (!updates.empty()) {
    Queued& next = updates.front();
    if (follows(next.head)) {
      auto* update = new LongUpdate(*this, origin, next.serial, next.head, next.layout, next.good);
      return update->start();
    }
    if (next.good) apply(origin, next.serial, next.head, next.layout, next.data.data());
    updates.pop_front();
    end_serving(origin);
  }
}

void MessagePath::long_update_over(LongUpdate& update) {
  const int origin = update.origin;
  delete &update;
  updates_[origin].pop_front();
  end_serving(origin);
  run_updates(origin);
}

void MessagePath::receive(RecvOperation& from_origin) {
  receiving_.insert(&from_origin);
  engine_.recv(from_origin);
}

// Of updates the first one is under way, and ends with what it receives.
void MessagePath::close() {
  closed_ = true;
  for (auto& [origin, updates] : updates_)
    for (; updates.size() > 1; updates.pop_back()) end_serving(origin);
  for (auto& [origin, behind] : lazy_) behind.messages.clear();
  const std::vector<RecvOperation*> all(receiving_.begin(), receiving_.end());
  for (RecvOperation* const each : all)
    if (receiving_.contains(each)) engine_.cancel(*each);
  engine_.withdraw_sends(data_.context, given_up_);
}

void MessagePath::end_serving(int origin) {
  engine_.note_event();
  target_.ends(origin);
}

}  // namespace tutti::rma
