// SPDX-License-Identifier: BSD-3-Clause
// Operations that this process starts: what is sent, what is awaited, when each is locally complete.
#include <algorithm>
#include <list>
#include <memory>
#include <utility>

#include "base/fault_point.hpp"
#include "engine/engine.hpp"
#include "memory/movers.hpp"
#include "rma/paths/message.hpp"

namespace tutti::rma {

using engine::Operation;
using engine::RecvOperation;
using engine::SendOperation;

// Ends when everything that it waits for is over.
struct MessagePath::Access {
  MessagePath& path;
  const int rank;
  const uint32_t serial;
  const Done done;
  Payload result;                                   // of a short answer
  LayoutRef origin_layout, result_layout;           // held
  std::unique_ptr<std::byte[]> outgoing, incoming;  // packed copies of what has gaps
  std::list<SendOperation> sends;
  std::list<RecvOperation> receives;
  int left = 1;  // sends, receives, a reply; and its making
  Error error;
};

namespace {

Bytes bytes_of(const OperationHead& head, const Bytes& layout, size_t room) {
  Bytes bytes;
  bytes.reserve(sizeof head + layout.size() + room);
  put(bytes, head);
  bytes.insert(bytes.end(), layout.begin(), layout.end());
  return bytes;
}

void append_packed(Bytes& to, const Payload& from) {
  const size_t at = to.size();
  to.resize(at + static_cast<size_t>(from.bytes()));
  memory::pack(from, 0, to.data() + at, from.bytes());
}

// One run of bytes needs no layout.
void describe(const Target& target, OperationHead& head, Bytes& layout) {
  const Payload there{nullptr, target.count, target.layout.get()};
  head.displacement = target.displacement;
  head.bytes = there.bytes();
  if (there.contiguous()) {
    head.displacement += target.layout->true_lower_bound();
    head.count = head.bytes;
    return;
  }
  head.count = target.count;
  target.layout->write(layout);
  head.layout_bytes = static_cast<uint32_t>(layout.size());
}

}  // namespace

void MessagePath::emit(int rank, int32_t tag, uint32_t serial, const Bytes& bytes, uint64_t signature) {
  transport::Header header;
  header.ticket = data_.context;
  header.source = data_.rank;
  header.tag = tag;
  header.serial = serial;
  header.signature = signature;
  engine_.send_active(data_.process_of(rank), header, bytes.data(), static_cast<int64_t>(bytes.size()));
}

// To the rank that something is kept for, behind that, or beside it.
void MessagePath::send(int rank, WindowMessage message, uint32_t serial, const Bytes& bytes, uint64_t signature) {
  int32_t tag = tag_of(message);
  if (kept_.rank == rank) {
    const int32_t beside = behind(message);
    if (kept_.is_operation) {
      let_go(beside);
      if (beside) return;
    } else if (beside || message == WindowMessage::operation) {
      tag |= kept_.before;
      end_keeping();
    } else {
      let_go();
    }
  }
  emit(rank, tag, serial, bytes, signature);
}

// ---- what is kept

// While anything is, the engine asks in each pass, and counts it as pending, so that the progress thread makes one.
void MessagePath::begin_to_keep(int rank) {
  kept_.rank = rank;
  engine_.add_pending();
  engine_.add_poller(*this);
}

void MessagePath::end_keeping() {
  engine_.remove_poller(*this);
  engine_.remove_pending();
  kept_.rank = kNobody;
  kept_.before = 0;
  kept_.is_operation = false;
}

void MessagePath::keep_lock(int rank, uint64_t flags) {
  if (kept_.rank != kNobody) let_go();
  begin_to_keep(rank);
  kept_.before = lock_before(flags);
}

// `beside`: what goes behind an operation, of its tag.
void MessagePath::let_go(int32_t beside) {
  const int rank = kept_.rank;
  const int32_t before = kept_.before;
  const bool is_operation = kept_.is_operation;
  end_keeping();
  if (!is_operation) return emit(rank, tag_of(WindowMessage::lock), 0, {}, lock_flags_of(before));
  emit(rank, tag_of(WindowMessage::operation) | before | beside, kept_.serial, kept_.bytes, kept_.mark);
}

bool MessagePath::poll() {
  let_go();
  return true;
}

// ---- operations that wait

MessagePath::Access& MessagePath::begin_access(int rank, Done done) {
  origin_.begins(rank);
  engine_.add_pending();
  return *new Access{*this, rank, last_serial_, done};
}

void MessagePath::end_access(Access& access) {
  if (--access.left > 0) return;
  accesses_.erase(access.serial);
  if (access.incoming && !access.error) memory::unpack(access.result, 0, access.incoming.get(), access.result.bytes());
  const int rank = access.rank;
  const Done done = access.done;
  Error error = std::move(access.error);
  delete &access;
  engine_.remove_pending();
  engine_.note_event();
  origin_.ends(rank, done, std::move(error));
}

void MessagePath::expect(Access& access, int64_t piece, Payload into) {
  RecvOperation& op = access.receives.emplace_back();
  ++access.left;
  op.payload = into;
  op.match = {data_.context, access.rank, data_tag(piece, true), access.serial};
  op.owner = &access;
  op.on_complete = [](Operation& o) TUTTI_ENGINE_OWNED {
    auto& a = *static_cast<Access*>(o.owner);
    if (o.outcome.mpi_class != 0 && !a.error)
      a.error = failure(o.outcome.mpi_class, "the data of rank {} could not be carried", a.rank);
    a.path.end_access(a);
  };
  engine_.recv(op);
}

void MessagePath::supply(Access& access, int64_t piece, Payload from) {
  if (given_up_) [[unlikely]]
    return;  // the operation has been refused
  SendOperation& op = access.sends.emplace_back();
  ++access.left;
  op.payload = from;
  op.peer = data_.process_of(access.rank);
  op.match = {data_.context, data_.rank, data_tag(piece, false), access.serial};
  op.owner = &access;
  op.on_complete = [](Operation& o) TUTTI_ENGINE_OWNED {
    auto& a = *static_cast<Access*>(o.owner);
    if (o.outcome.mpi_class != 0 && !a.error)
      a.error = failure(o.outcome.mpi_class, "the data for rank {} could not be carried", a.rank);
    a.path.end_access(a);
  };
  engine_.send(op);
}

void MessagePath::replied(uint32_t serial, const std::byte* data, int64_t bytes) {
  const auto at = accesses_.find(serial);
  if (at == accesses_.end()) return;
  Access& access = *at->second;
  if (bytes > 0) memory::unpack(access.result, 0, data, bytes);
  end_access(access);
}

// At the target: nothing comes of what was expected.
void MessagePath::refused(uint32_t serial, Error error) {
  const auto at = accesses_.find(serial);
  if (at == accesses_.end()) return origin_.failed(std::move(error));
  Access& access = *at->second;
  access.error = std::move(error);
  ++access.left;
  const bool replies = access.receives.empty();
  for (auto op = access.receives.begin(); op != access.receives.end();) {
    RecvOperation& receive = *op++;
    engine_.cancel(receive);
  }
  if (replies) end_access(access);
  end_access(access);
}

// Nobody can wait for what is under way any more, since locks and epochs may never come to those who need them, and the
// program may take back its buffers behind the error: so all of it ends, also what goes to those who live.
void MessagePath::give_up(int mpi_class) {
  given_up_ = mpi_class;
  if (kept_.rank != kNobody) {
    if (kept_.is_operation) origin_.failed(failure(mpi_class, "a rank of the window has failed"));
    end_keeping();
  }
  std::vector<uint32_t> serials;
  for (const auto& [serial, access] : accesses_) serials.push_back(serial);
  for (const uint32_t serial : serials)
    if (accesses_.contains(serial)) refused(serial, failure(mpi_class, "a rank of the window has failed"));
  engine_.withdraw_sends(data_.context, mpi_class);
}

// ---- the operations

void MessagePath::start(int rank, uint32_t serial, const Bytes& message) {
  if (given_up_) [[unlikely]]
    return refused(serial, failure(given_up_, "a rank of the window has failed"));
  send(rank, WindowMessage::operation, serial, message, origin_.mark());
}

// A short one of which its target says nothing. It may be kept.
void MessagePath::start_unanswered(int rank, uint32_t serial, Bytes message) {
  if (!may_keep_ || given_up_ || rank == data_.rank) return start(rank, serial, message);
  if (kept_.rank != rank || kept_.is_operation) {
    if (kept_.rank != kNobody) let_go();
    begin_to_keep(rank);
  }
  kept_.is_operation = true;
  kept_.serial = serial;
  kept_.mark = origin_.mark();
  kept_.bytes = std::move(message);
}

void MessagePath::put(const Local& origin, const Target& target, Done done) {
  const Payload from = origin.payload();
  OperationHead head;
  Bytes layout;
  describe(target, head, layout);
  head.act = {.kind = AccessKind::put};
  const uint32_t serial = ++last_serial_;
  origin_.goes_unheard(target.rank);
  if (!follows(head)) {
    Bytes message = bytes_of(head, layout, static_cast<size_t>(head.bytes));
    append_packed(message, from);
    start_unanswered(target.rank, serial, std::move(message));
    return origin_.over(done, {});
  }
  start(target.rank, serial, bytes_of(head, layout, 0));
  TUTTI_FAULT_POINT("put.announced");
  Access& access = begin_access(target.rank, done);
  access.origin_layout = origin.layout;
  supply(access, 0, from);
  end_access(access);
}

void MessagePath::get(const Local& origin, const Target& target, Done done) {
  OperationHead head;
  Bytes layout;
  describe(target, head, layout);
  head.act = {.kind = AccessKind::get};
  const uint32_t serial = ++last_serial_;
  Access& access = begin_access(target.rank, done);
  access.result = origin.payload();
  access.result_layout = origin.layout;
  accesses_[serial] = &access;
  if (follows(head))
    expect(access, 0, access.result);
  else
    ++access.left;
  start(target.rank, serial, bytes_of(head, layout, 0));
  TUTTI_FAULT_POINT("get.asked");
  end_access(access);
}

// An update. That its result has come says that it has been carried out; a witness there wants to be asked all the same.
void MessagePath::goes(int rank, bool fetches) {
  if (!fetches || !may_keep_) origin_.goes_unheard(rank);
}

void MessagePath::update(Update update, const Local& origin, const Local* result, const Target& target, Done done) {
  OperationHead head;
  Bytes layout;
  describe(target, head, layout);
  head.act = {.kind = AccessKind::update, .fetches = result != nullptr, .update = update};
  const uint32_t serial = ++last_serial_;
  goes(target.rank, result != nullptr);
  Bytes message;
  if (!follows(head)) {
    message = bytes_of(head, layout, static_cast<size_t>(head.bytes));
    if (carries(head.act)) append_packed(message, origin.payload());
  }
  if (!follows(head) && !result) {
    start_unanswered(target.rank, serial, std::move(message));
    return origin_.over(done, {});
  }
  Access& access = begin_access(target.rank, done);
  access.origin_layout = origin.layout;
  if (result) {
    access.result = result->payload();
    access.result_layout = result->layout;
    accesses_[serial] = &access;
  }
  if (follows(head)) {
    update_long(access, origin, result, head, layout);
  } else {
    ++access.left;
    start(target.rank, serial, message);
  }
  end_access(access);
}

// Both ways in pieces, so that the target needs little memory.
void MessagePath::update_long(Access& access, const Local& origin, const Local* result, const OperationHead& head,
                              const Bytes& layout) {
  const int64_t size = arithmetic_.layout(head.act.update.element).size();
  const int64_t piece = kPiece / size * size, bytes = head.bytes;
  const auto slices = [&](std::byte* data, auto&& each) TUTTI_ENGINE_OWNED {
    for (int64_t i = 0; i * piece < bytes; ++i)
      each(i, Payload{data + i * piece, std::min(piece, bytes - i * piece), &Layout::bytes()});
  };
  if (result) {
    const Payload into = result->payload();
    std::byte* data = into.contiguous() ? into.data() : nullptr;
    if (!data) {
      access.incoming = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes));
      data = access.incoming.get();
    }
    slices(data, [&](int64_t i, const Payload& slice) TUTTI_ENGINE_OWNED { expect(access, i, slice); });
  }
  start(access.rank, access.serial, bytes_of(head, layout, 0));
  TUTTI_FAULT_POINT("update.announced");
  if (!carries(head.act)) return;
  const Payload from = origin.payload();
  std::byte* data = from.contiguous() ? from.data() : nullptr;
  if (!data) {
    access.outgoing = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes));
    data = access.outgoing.get();
    memory::pack(from, 0, data, bytes);
  }
  slices(data, [&](int64_t i, const Payload& slice) TUTTI_ENGINE_OWNED { supply(access, i, slice); });
}

void MessagePath::compare_and_swap(Update element, const void* origin, const void* compare, void* result,
                                   const Target& target) {
  OperationHead head;
  Bytes layout;
  describe(target, head, layout);
  head.act = {.kind = AccessKind::update, .fetches = true, .update = {kCompareAndSwap, element.element}};
  const uint32_t serial = ++last_serial_;
  goes(target.rank, true);
  Access& access = begin_access(target.rank, {});
  access.result = {result, 1, target.layout.get()};
  access.result_layout = target.layout;
  accesses_[serial] = &access;
  ++access.left;
  Bytes message = bytes_of(head, layout, static_cast<size_t>(2 * head.bytes));
  append_packed(message, {const_cast<void*>(compare), 1, target.layout.get()});
  append_packed(message, {const_cast<void*>(origin), 1, target.layout.get()});
  start(target.rank, serial, message);
  end_access(access);
}

}  // namespace tutti::rma
