// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/p2p/bsend.hpp"

#include "engine/engine.hpp"
#include "memory/movers.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/object/watcher.hpp"
#include "mpi/p2p/api_buffer.hpp"

namespace tutti::mpi {

SendBuffer& send_buffer() {
  static auto* buffer = new SendBuffer;  // outlives whatever still sends at exit
  return *buffer;
}

SendBuffer& send_buffer_for(Comm& comm) {
  if (comm.send_buffer) [[unlikely]]
    return *comm.send_buffer;
  if (comm.group->session && comm.group->session->send_buffer) [[unlikely]]
    return *comm.group->session->send_buffer;
  return send_buffer();
}

// A flush with a request: of the messages before it.
class SendBuffer::Flush final : public Request, public Pooled<SendBuffer::Flush> {
 public:
  Flush(SendBuffer& buffer, Comm& comm) TUTTI_ENGINE_OWNED : Request(Kind::send, comm),
                                                             buffer_(buffer),
                                                             end_(buffer.sent_),
                                                             left_(buffer.messages_.size()) {}
  // True: it was the last one.
  bool has_left(uint64_t number) TUTTI_ENGINE_OWNED { return number < end_ && --left_ == 0; }
  bool is_over() const TUTTI_ENGINE_OWNED { return left_ == 0; }
  void fill(MPI_Status& status) const override { fill_empty(status); }
  Error error() const override { return {}; }
  Error cancel() override TUTTI_ENGINE_OWNED {
    return failure(MPI_ERR_REQUEST, "the flush of a buffer cannot be cancelled");
  }

 private:
  void add_open_needs(life::Condition& needs) const override TUTTI_ENGINE_OWNED {
    needs.all();
    for (const Message& message : buffer_.messages_)
      if (message.number < end_) needs.process(message.op.peer);
    needs.end();
  }

  const SendBuffer& buffer_;
  const uint64_t end_;
  size_t left_;
};

Error SendBuffer::start_flush(MPI_Request* request) {
  Flush* made = nullptr;
  {
    const engine::Engine::Guard own(engine_of_process());
    made = new Flush(*this, *current.self);
    made->begin();
    if (made->is_over())
      made->finish(true);
    else
      flushes_.push_back(made);
  }
  *request = inventory::hand_out<Request>(*made);
  return {};
}

Error SendBuffer::attach(void* memory, int64_t size) {
  const engine::Engine::Guard own(engine_of_process());
  if (attached_) return failure(MPI_ERR_BUFFER, "a buffer is attached already: detach it first");
  if (!memory && size > 0)
    return failure(MPI_ERR_BUFFER, "the address is NULL, yet {} bytes lie there (argument buffer)", size);
  attached_ = true;
  automatic_ = memory == MPI_BUFFER_AUTOMATIC;
  memory_ = automatic_ ? nullptr : static_cast<std::byte*>(memory);
  size_ = automatic_ ? 0 : size;
  return {};
}

void SendBuffer::flush() {
  const engine::Engine::Guard own(engine_of_process());
  drain();
}

void SendBuffer::forget(Position gone) {
  std::erase_if(flushes_, [&](Flush* flush) TUTTI_ENGINE_OWNED {
    if (!flush->has_left(gone->number)) return false;
    flush->finish(true);
    return true;
  });
  if (latest_ == gone) latest_ = gone == messages_.begin() ? messages_.end() : std::prev(gone);
  messages_.erase(gone);
}

void SendBuffer::drain() {
  engine_of_process().wait_until([this]() TUTTI_ENGINE_OWNED { return messages_.empty(); },
                                 [this](life::Condition& needs) TUTTI_ENGINE_OWNED {
                                   for (const Message& message : messages_) needs.process(message.op.peer);
                                 });
}

Error SendBuffer::detach(void*& memory, int64_t& size) {
  const engine::Engine::Guard own(engine_of_process());
  drain();  // and nobody adds one before we are done
  if (!attached_) return failure(MPI_ERR_BUFFER, "no buffer is attached");
  memory = automatic_ ? MPI_BUFFER_AUTOMATIC : memory_;
  size = size_;
  attached_ = automatic_ = false;
  memory_ = nullptr;
  size_ = 0;
  return {};
}

// Between the messages under way: behind the latest, where there mostly is room, then from the
// start on. From the start alone, each message would look between all those under way.
std::byte* SendBuffer::find_room(int64_t bytes, Position& before) {
  const Position end = messages_.end();
  if (latest_ != end) {
    before = std::next(latest_);
    if (std::byte* room = find_room(bytes, before, end)) return room;
  }
  before = messages_.begin();
  return find_room(bytes, before, latest_);
}

// Before one of those from `before` on, and before `end` if that is none.
std::byte* SendBuffer::find_room(int64_t bytes, Position& before, Position end) {
  std::byte* from = before == messages_.begin() ? memory_ : std::prev(before)->data + std::prev(before)->bytes;
  for (;; ++before) {
    std::byte* const to = before == messages_.end() ? memory_ + size_ : before->data;
    if (to - from >= bytes) return from;
    if (before == messages_.end() || before == end) return nullptr;
    from = before->data + before->bytes;
  }
}

Error SendBuffer::send(const void* data, int64_t count, Datatype& type, int dest, int tag, Comm& comm) {
  const Payload payload = type.payload(data, count);
  const int64_t bytes = payload.bytes();
  engine::Engine& engine = comm.engine();
  if (checking.watcher) [[unlikely]]
    checking.watcher->acts();
  auto before = messages_.end();
  std::unique_ptr<std::byte[]> own;
  std::byte* room = nullptr;
  if (automatic_) {
    own.reset(new (std::nothrow) std::byte[static_cast<size_t>(bytes)]);
    room = own.get();
  } else if (attached_) {
    engine.progress();  // whatever has left makes room
    room = bytes == 0 ? memory_ : find_room(bytes, before);
    if (bytes == 0) before = messages_.begin();
  }
  if (!room && !(attached_ && bytes == 0))
    return attached_ ? failure(MPI_ERR_BUFFER, "the attached buffer of {} bytes has no room for this message of {}",
                               size_, bytes)
                     : failure(MPI_ERR_BUFFER,
                               "no buffer is attached for this message of {} bytes: call "
                               "MPI_Buffer_attach first",
                               bytes);

  const auto at = messages_.emplace(before);
  if (bytes > 0) latest_ = at;
  Message& message = *at;
  message.data = room;
  message.bytes = bytes;
  message.number = sent_++;
  message.own = std::move(own);
  message.comm = Ref<Comm>(&comm);
  ++comm.under_way;
  message.buffer = this;
  message.self = at;
  if (bytes > 0) memory::pack(payload, 0, room, bytes);
  message.op.payload = {room, bytes, &Layout::bytes()};
  message.op.peer = comm.process_of(dest);
  message.op.pattern = type.pattern;
  message.op.mode = engine::SendMode::buffered;
  message.op.match = {comm.user.context, comm.rank(), tag, 0};
  message.op.owner = &message;
  message.op.on_complete = [](engine::Operation& op) TUTTI_ENGINE_OWNED {
    auto& done = *static_cast<Message*>(op.owner);
    --done.comm->under_way;
    done.buffer->forget(done.self);
  };
  engine.send(message.op);
  return {};
}

namespace {

Error bad_size(int64_t size) {
  if (size >= 0) return {};
  return failure(MPI_ERR_ARG, "{} is no size of a buffer (argument size)", size);
}

// `place`: where a communicator or session keeps its own.
Error attach_to(std::shared_ptr<SendBuffer>& place, void* buffer, int64_t size) {
  if (Error e = bad_size(size)) return e;
  std::shared_ptr<SendBuffer> made = place;
  if (!made) made = std::make_shared<SendBuffer>();
  if (Error e = made->attach(buffer, size)) return e;
  const engine::Engine::Guard own(engine_of_process());
  place = std::move(made);
  return {};
}

// Messages that are on their way are those of the old buffer, and when it is detached there are none.
Error detach_from(std::shared_ptr<SendBuffer>& place, const char* what, void* buffer_addr, int64_t& size) {
  const std::shared_ptr<SendBuffer> buffer = place;
  if (!buffer) return failure(MPI_ERR_BUFFER, "no buffer is attached to the {}", what);
  if (Error e = buffer->detach(*static_cast<void**>(buffer_addr), size)) return e;
  const engine::Engine::Guard own(engine_of_process());
  place.reset();
  return {};
}

Error flush_of(const std::shared_ptr<SendBuffer>& buffer, const char* what) {
  if (!buffer) return failure(MPI_ERR_BUFFER, "no buffer is attached to the {}", what);
  buffer->flush();
  return {};
}

Error start_flush_of(const std::shared_ptr<SendBuffer>& buffer, const char* what, MPI_Request* request) {
  if (!buffer) return failure(MPI_ERR_BUFFER, "no buffer is attached to the {}", what);
  return buffer->start_flush(request);
}

}  // namespace

Error buffer_attach(void* buffer, int64_t size) {
  if (Error e = bad_size(size)) return e;
  return send_buffer().attach(buffer, size);
}
Error buffer_detach(void* buffer_addr, int64_t& size) {
  return send_buffer().detach(*static_cast<void**>(buffer_addr), size);
}
Error buffer_flush() {
  send_buffer().flush();
  return {};
}
Error buffer_iflush(MPI_Request* request) {
  return send_buffer().start_flush(request);
}

Error comm_attach_buffer(Comm& comm, void* buffer, int64_t size) {
  return attach_to(comm.send_buffer, buffer, size);
}
Error comm_detach_buffer(Comm& comm, void* buffer_addr, int64_t& size) {
  return detach_from(comm.send_buffer, "communicator", buffer_addr, size);
}
Error comm_flush_buffer(Comm& comm) {
  return flush_of(comm.send_buffer, "communicator");
}
Error comm_iflush_buffer(Comm& comm, MPI_Request* request) {
  return start_flush_of(comm.send_buffer, "communicator", request);
}

Error session_attach_buffer(Session& session, void* buffer, int64_t size) {
  return attach_to(session.send_buffer, buffer, size);
}
Error session_detach_buffer(Session& session, void* buffer_addr, int64_t& size) {
  return detach_from(session.send_buffer, "session", buffer_addr, size);
}
Error session_flush_buffer(Session& session) {
  return flush_of(session.send_buffer, "session");
}
Error session_iflush_buffer(Session& session, MPI_Request* request) {
  return start_flush_of(session.send_buffer, "session", request);
}

}  // namespace tutti::mpi
