// SPDX-License-Identifier: BSD-3-Clause
// The target's side: serves the operations of others as their messages come.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/log.hpp"
#include "engine/engine.hpp"
#include "rma/window_end.hpp"

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

// Long data on its way to or from my memory.
struct WindowEnd::Serving {
  WindowEnd& window;
  const int origin;
  const LayoutRef layout;
  std::unique_ptr<std::byte[]> scrap;  // takes what must not go to memory
  SendOperation send;
  RecvOperation receive;
};

// A long update: pieces come into two buffers by turns, so that one is applied while the next
// comes.
struct WindowEnd::LongUpdate {
  LongUpdate(WindowEnd& window, int origin, uint32_t serial, const OperationHead& head, LayoutRef layout, bool good)
      : window(window), origin(origin), serial(serial), head(head), layout(std::move(layout)), good(good) {
    const int64_t size = window.arithmetic_.layout(head.act.update.element).size();
    length = kPiece / size * size;
    pieces = (head.bytes + length - 1) / length;
    for (auto& buffer : buffers)
      if (carries(head.act)) buffer = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(length));
  }

  void start() TUTTI_ENGINE_OWNED {
    if (!carries(head.act)) {
      for (int64_t i = 0; i < pieces; ++i) apply(i);
      return window.long_update_over(*this);
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
    WindowEnd* window;
    int origin;
  };

  int64_t bytes_of(int64_t piece) const { return std::min(length, head.bytes - piece * length); }

  void receive(int64_t piece) TUTTI_ENGINE_OWNED {
    operation.payload = {buffers[static_cast<size_t>(piece % 2)].get(), bytes_of(piece), &Layout::bytes()};
    operation.match = {window.data_.context, origin, data_tag(piece, false), serial};
    operation.owner = this;
    operation.on_complete = [](Operation& o) TUTTI_ENGINE_OWNED {
      auto& self = *static_cast<LongUpdate*>(o.owner);
      self.is_here = true;
      self.go_on();
    };
    window.engine_.recv(operation);
  }

  // Receiving may complete at once: a loop, not a recursion.
  void go_on() TUTTI_ENGINE_OWNED {
    if (goes_on) return;
    goes_on = true;
    while (is_here) {
      is_here = false;
      const int64_t piece = received++;
      if (received < pieces) receive(received);
      apply(piece);
    }
    goes_on = false;
    if (received == pieces) window.long_update_over(*this);
  }

  void apply(int64_t piece) TUTTI_ENGINE_OWNED {
    if (!good) return;
    const int64_t bytes = bytes_of(piece);
    std::unique_ptr<std::byte[]> old;
    if (head.act.fetches) old = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes));
    carry_out(window.arithmetic_, head.act.update, window.place(buffer_of(head, layout)), piece * length,
              buffers[static_cast<size_t>(piece % 2)].get(), bytes, old.get());
    if (old) answer(piece, std::move(old), bytes);
  }

  void answer(int64_t piece, std::unique_ptr<std::byte[]> held, int64_t bytes) TUTTI_ENGINE_OWNED {
    auto* old = new Answer;
    old->bytes = std::move(held);
    old->window = &window;
    old->origin = origin;
    old->send.payload = {old->bytes.get(), bytes, &Layout::bytes()};
    old->send.peer = window.data_.process_of(origin);
    old->send.match = {window.data_.context, window.data_.rank, data_tag(piece, true), serial};
    old->send.owner = old;
    old->send.on_complete = [](Operation& o) TUTTI_ENGINE_OWNED {
      const std::unique_ptr<Answer> done(static_cast<Answer*>(o.owner));
      done->window->end_serving(done->origin);
    };
    window.begin_serving(origin);
    window.engine_.send(old->send);
  }

 public:
  WindowEnd& window;
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
};

// ---- arrivals

void Service::handle(const transport::Header& header, const std::byte* data) {
  const auto at = windows_.find(header.ticket);
  if (at != windows_.end()) return at->second->handle(header, data);
  switch (static_cast<WindowMessage>(header.tag)) {
    case WindowMessage::reply:
    case WindowMessage::failed:  // of one whose origin did not wait for it, and has freed the window
    case WindowMessage::flushed:
    case WindowMessage::granted:
    case WindowMessage::unlocked:
    case WindowMessage::holders:
      return;
    default:
      break;
  }
  early_[header.ticket].push_back({header, Bytes(data, data + header.bytes)});
}

void Service::add(uint64_t context, WindowEnd& window) {
  windows_[context] = &window;
  const auto at = early_.find(context);
  if (at == early_.end()) return;
  const std::vector<Early> early = std::move(at->second);
  early_.erase(at);
  for (const Early& message : early) window.handle(message.header, message.bytes.data());
}

WindowEnd::WindowEnd(Service& service, engine::Channel& data, const Arithmetic& arithmetic)
    : service_(service),
      data_(data),
      engine_(*data.engine),
      arithmetic_(arithmetic),
      aims_(static_cast<size_t>(data.size())) {}

WindowEnd::~WindowEnd() {
  service_.remove(data_.context);
}

void WindowEnd::handle(const transport::Header& header, const std::byte* data) {
  const int from = header.source;
  const std::span<const std::byte> bytes(data, static_cast<size_t>(header.bytes));
  const auto message = static_cast<WindowMessage>(header.tag);
  switch (message) {
    case WindowMessage::operation:
      return serve(from, header.serial, header.signature, bytes);
    case WindowMessage::reply:
      return replied(header.serial, data, header.bytes);
    case WindowMessage::failed:
      return failed(header.serial, Error(static_cast<int>(header.signature),
                                         std::string(reinterpret_cast<const char*>(data), bytes.size())));
    case WindowMessage::flushed:
      --aim(from).unheard;
      --unheard_;
      return;
    case WindowMessage::post:
      ++aim(from).posts;
      return;
    case WindowMessage::granted:
      aim(from).granted = true;
      return;
    case WindowMessage::unlocked:
      aim(from).unlocking = false;
      return;
    case WindowMessage::witness:
      if (witness_) witness_->hears(from, bytes);
      return;
    case WindowMessage::lock:
      if (exposed_) refuse_lock(from);
      if (locks_.request(from, header.signature != 0)) send(from, WindowMessage::granted);
      return tell_holders();
    case WindowMessage::who:
      served_[from].wants_holders = true;
      return tell_holders();
    case WindowMessage::holders: {
      std::vector<int>& holders = aim(from).holders;
      holders.clear();
      std::span<const std::byte> rest = bytes;
      for (int32_t rank; tutti::get(rest, rank);) holders.push_back(rank);
      return;
    }
    case WindowMessage::flush:
    case WindowMessage::complete:
    case WindowMessage::unlock:
      break;
  }
  Served& served = served_[from];
  if (served.unfinished > 0) return served.when_finished.push_back(message);
  settle(from, message);
}

void WindowEnd::serve(int origin, uint32_t serial, uint64_t mark, std::span<const std::byte> bytes) {
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
  const TargetBuffer buffer = buffer_of(head, layout);
  Layout::Run missed;
  const bool good = !dynamic_ || is_attached(buffer, missed);
  if (!good) refuse(origin, serial, missed);
  if (witness_ && good) [[unlikely]]
    witness_->serves(origin, mark, head.act, buffer);
  switch (head.act.kind) {
    case AccessKind::put:
      return serve_put(origin, serial, head, std::move(layout), bytes.data(), good);
    case AccessKind::get:
      return good ? serve_get(origin, serial, head, std::move(layout)) : void();
    case AccessKind::update:
      return serve_update(origin, serial, head, std::move(layout), bytes, good);
  }
}

// Where an operation's data lie here.
Payload WindowEnd::place(const TargetBuffer& buffer) const {
  return {reinterpret_cast<void*>(address_of(buffer.displacement)), buffer.count, buffer.layout};
}

// ---- puts and gets

void WindowEnd::serve_put(int origin, uint32_t serial, const OperationHead& head, LayoutRef layout,
                          const std::byte* data, bool good) {
  const Payload into = place(buffer_of(head, layout));
  if (!follows(head)) {
    if (good) into.unpack(0, data, head.bytes);
    return;
  }
  begin_serving(origin);
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
    done->window.end_serving(done->origin);
  };
  engine_.recv(serving->receive);
}

void WindowEnd::serve_get(int origin, uint32_t serial, const OperationHead& head, LayoutRef layout) {
  const Payload from = place(buffer_of(head, layout));
  if (!follows(head)) {
    Bytes data(static_cast<size_t>(head.bytes));
    from.pack(0, data.data(), head.bytes);
    return send(origin, WindowMessage::reply, serial, data);
  }
  begin_serving(origin);
  auto* serving = new Serving{*this, origin, std::move(layout)};
  serving->send.payload = from;
  serving->send.peer = data_.process_of(origin);
  serving->send.match = {data_.context, data_.rank, data_tag(0, true), serial};
  serving->send.owner = serving;
  serving->send.on_complete = [](Operation& o) TUTTI_ENGINE_OWNED {
    const std::unique_ptr<Serving> done(static_cast<Serving*>(o.owner));
    done->window.end_serving(done->origin);
  };
  engine_.send(serving->send);
}

// ---- updates, in the order of their origin

void WindowEnd::serve_update(int origin, uint32_t serial, const OperationHead& head, LayoutRef layout,
                             std::span<const std::byte> data, bool good) {
  std::deque<Queued>& updates = served_[origin].updates;
  if (updates.empty() && !follows(head)) {
    if (good) apply(origin, serial, head, layout, data.data());
    return;
  }
  begin_serving(origin);
  updates.push_back({serial, head, std::move(layout), Bytes(data.begin(), data.end()), good});
  if (updates.size() == 1) run_updates(origin);
}

void WindowEnd::apply(int origin, uint32_t serial, const OperationHead& head, const LayoutRef& layout,
                      const std::byte* data) {
  Bytes old(head.act.fetches ? static_cast<size_t>(head.bytes) : 0);
  carry_out(arithmetic_, head.act.update, place(buffer_of(head, layout)), 0, data, head.bytes,
            head.act.fetches ? old.data() : nullptr);
  if (head.act.fetches) send(origin, WindowMessage::reply, serial, old);
}

void WindowEnd::run_updates(int origin) {
  std::deque<Queued>& updates = served_[origin].updates;
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

void WindowEnd::long_update_over(LongUpdate& update) {
  const int origin = update.origin;
  delete &update;
  served_[origin].updates.pop_front();
  end_serving(origin);
  run_updates(origin);
}

// ---- attached memory

bool WindowEnd::attach(void* base, int64_t size) {
  const auto begin = reinterpret_cast<uintptr_t>(base);
  return attached_.attach(begin, begin + static_cast<uintptr_t>(size));
}

bool WindowEnd::detach(const void* base) {
  return attached_.detach(reinterpret_cast<uintptr_t>(base));
}

// Layouts may begin below the displacement, which may itself be any number: sums are signed.
bool WindowEnd::is_attached(const TargetBuffer& buffer, Layout::Run& missed) const {
  return buffer.layout->all_runs(
      buffer.displacement, buffer.count,
      [this](const Layout::Run& run) TUTTI_ENGINE_OWNED { return attached_.holds(run.low, run.high); }, missed);
}

void WindowEnd::refuse(int origin, uint32_t serial, const Layout::Run& missed) {
  const auto bytes = static_cast<int64_t>(missed.high - missed.low);
  const std::string text = fmt::format(
      "rank {} of the window has attached no memory at address {} that holds {} byte{}: attach it "
      "with MPI_Win_attach before others access it, and take its address from MPI_Get_address there "
      "(argument target_disp)",
      data_.rank, reinterpret_cast<void*>(static_cast<uintptr_t>(missed.low)), bytes, bytes == 1 ? "" : "s");
  Bytes said(text.size());
  std::memcpy(said.data(), text.data(), text.size());
  send(origin, WindowMessage::failed, serial, said, MPI_ERR_RMA_RANGE);
}

// Locked and exposed at once is an error (12.5.3), which its origin hears of as soon as it has the lock.
void WindowEnd::refuse_lock(int origin) {
  const std::string text = fmt::format(
      "rank {} of the window has exposed its memory by MPI_Win_post and has not called MPI_Win_wait yet: it cannot be "
      "locked meanwhile (the standard, section 12.5.3; argument rank)",
      data_.rank);
  Bytes said(text.size());
  std::memcpy(said.data(), text.data(), text.size());
  send(origin, WindowMessage::failed, 0, said, MPI_ERR_RMA_SYNC);
}

// ---- what waits until all operations of an origin are complete

void WindowEnd::begin_serving(int origin) {
  ++served_[origin].unfinished;
  ++unfinished_;
}

void WindowEnd::end_serving(int origin) {
  Served& served = served_[origin];
  --unfinished_;
  engine_.note_event();
  if (--served.unfinished > 0) return;
  const std::vector<WindowMessage> waiting = std::exchange(served.when_finished, {});
  for (const WindowMessage message : waiting) settle(origin, message);
}

void WindowEnd::settle(int origin, WindowMessage message) {
  switch (message) {
    case WindowMessage::flush:
      if (witness_) [[unlikely]]
        witness_->completes(origin);
      return send(origin, WindowMessage::flushed);
    case WindowMessage::complete:
      ++served_[origin].completes;
      return;
    case WindowMessage::unlock:
      if (witness_) [[unlikely]]
        witness_->completes(origin);
      if (locks_.holds(origin))
        for (const int rank : locks_.release(origin)) send(rank, WindowMessage::granted);
      send(origin, WindowMessage::unlocked);
      return tell_holders();
    default:
      return;
  }
}

// To those that have asked. Each change is told before its effect can be seen elsewhere, so that
// nobody who has received all messages for him waits for the wrong ones.
void WindowEnd::tell_holders() {
  for (auto& [rank, served] : served_) {
    if (!served.wants_holders) continue;
    const std::vector<int> before = locks_.before(rank);
    if (before.empty()) served.wants_holders = false;
    Bytes bytes;
    for (const int holder : before) tutti::put(bytes, static_cast<int32_t>(holder));
    send(rank, WindowMessage::holders, 0, bytes);
  }
}

}  // namespace tutti::rma
