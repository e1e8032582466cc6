// SPDX-License-Identifier: BSD-3-Clause
// What comes, and from and to which side it is.
#include "rma/paths/message.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "base/fault_point.hpp"

namespace tutti::rma {

void Service::handle(const transport::Header& header, const std::byte* data) {
  const auto at = windows_.find(header.ticket);
  if (at != windows_.end()) return at->second->handle(header, data);
  switch (message_of(header.tag)) {
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

void Service::add(uint64_t context, MessagePath& window) {
  windows_[context] = &window;
  for (const auto& [process, mpi_class] : lost_)
    if (window.data_.peers.contains(process)) window.give_up(mpi_class);
  const auto at = early_.find(context);
  if (at == early_.end()) return;
  const std::vector<Message> early = std::move(at->second);
  early_.erase(at);
  for (const Message& message : early) window.handle(message.header, message.bytes.data());
}

void Service::lose(int process, int mpi_class) {
  lost_[process] = mpi_class;
  std::vector<uint64_t> contexts;  // what ends may begin or end others
  for (const auto& [context, window] : windows_) contexts.push_back(context);
  for (const uint64_t context : contexts)
    if (const auto at = windows_.find(context); at != windows_.end() && at->second->data_.peers.contains(process))
      at->second->give_up(mpi_class);
}

MessagePath::MessagePath(Service& service, engine::Channel& data, const Arithmetic& arithmetic, OriginSide& origin,
                         TargetSide& target)
    : service_(service), data_(data), engine_(*data.engine), arithmetic_(arithmetic), origin_(origin), target_(target) {
  target.set_answers(*this);
}

MessagePath::~MessagePath() {
  if (kept_.rank != kNobody) end_keeping();
  service_.remove(data_.context);
}

void MessagePath::send_failure(int rank, uint32_t serial, const Error& error) {
  const std::string& text = error.message();
  Bytes said(text.size());
  std::memcpy(said.data(), text.data(), text.size());
  emit(rank, tag_of(WindowMessage::failed), serial, said, static_cast<uint64_t>(error.mpi_class()));
}

void MessagePath::holders(int origin, const std::vector<int>& ranks) {
  Bytes bytes;
  for (const int rank : ranks) tutti::put(bytes, static_cast<int32_t>(rank));
  emit(origin, tag_of(WindowMessage::holders), 0, bytes);
}

// ---- locks that are waited for here

void MessagePath::granted(int origin) {
  if (!lazy_.contains(origin)) return emit(origin, tag_of(WindowMessage::granted));
  granted_.push_back(origin);
  serve_granted();
}

void MessagePath::unlocked(int origin, bool awaited) {
  lazy_.erase(origin);
  emit(origin, tag_of(WindowMessage::unlocked), 0, {}, told_memory_ << 1 | static_cast<uint64_t>(awaited));
}

void MessagePath::serve_granted() {
  if (std::exchange(serves_granted_, true)) return;
  while (!granted_.empty()) {
    HeldBack& behind = lazy_.at(granted_.front());
    granted_.erase(granted_.begin());
    behind.waits = false;
    const std::vector<Message> messages = std::exchange(behind.messages, {});
    for (const Message& message : messages) handle(message.header, message.bytes.data());
  }
  serves_granted_ = false;
}

// True: it is kept until its origin has the lock.
bool MessagePath::waits_for_lock(const transport::Header& header, const std::byte* data) {
  const WindowMessage message = message_of(header.tag);
  if (message != WindowMessage::operation && message != WindowMessage::flush && message != WindowMessage::unlock)
    return false;
  const auto at = lazy_.find(header.source);
  if (at == lazy_.end() || !at->second.waits) return false;
  std::vector<Message>& messages = at->second.messages;
  messages.push_back({header, Bytes(data, data + header.bytes)});
  if (header.tag & kLockBefore) messages.back().header.tag &= (1 << kLockFlagsAt) - 1 - kLockBefore;
  return true;
}

void MessagePath::take_lock_before(int from, uint64_t flags) {
  if (flags & kLazy) lazy_[from] = {};
  target_.asks_lock(from, {(flags & kExclusive) != 0, (flags & kPasses) != 0});
}

// What its origin says behind a message, beside it.
void MessagePath::served(int from, int32_t tag) {
  using Behind = TargetSide::Behind;
  if (tag & kFlushBehind) target_.says(from, Behind::flush);
  if (tag & kCompleteBehind) target_.says(from, Behind::complete);
  if (tag & kUnlockBehind) target_.says(from, Behind::unlock);
}

void MessagePath::handle(const transport::Header& header, const std::byte* data) {
  const int from = header.source;
  if (header.tag & kLockBefore) take_lock_before(from, lock_flags_of(header.tag));
  if (!lazy_.empty() && waits_for_lock(header, data)) [[unlikely]]
    return;
  const std::span<const std::byte> bytes(data, static_cast<size_t>(header.bytes));
  switch (const WindowMessage message = message_of(header.tag)) {
    case WindowMessage::operation:
      serve(from, header.serial, header.signature, bytes);
      return served(from, header.tag);
    case WindowMessage::reply:
      return replied(header.serial, data, header.bytes);
    case WindowMessage::failed:
      return refused(header.serial, Error(static_cast<int>(header.signature),
                                          std::string(reinterpret_cast<const char*>(data), bytes.size())));
    case WindowMessage::flushed:
      if (header.signature) origin_.told_memory(from, header.signature);
      return origin_.flushed(from);
    case WindowMessage::post:
      return origin_.posted(from);
    case WindowMessage::granted:
      TUTTI_FAULT_POINT("lock.granted");
      return origin_.granted(from);
    case WindowMessage::unlocked:
      TUTTI_FAULT_POINT("lock.unlocked");
      if (header.signature > 1) origin_.told_memory(from, header.signature >> 1);
      return origin_.unlocked(from, (header.signature & 1) != 0);
    case WindowMessage::holders: {
      std::vector<int> holders;
      std::span<const std::byte> rest = bytes;
      for (int32_t rank; tutti::get(rest, rank);) holders.push_back(rank);
      return origin_.told_holders(from, std::move(holders));
    }
    case WindowMessage::flush:
    case WindowMessage::complete:
    case WindowMessage::unlock:
      return served(from, behind(message));
    case WindowMessage::lock:
      return take_lock_before(from, header.signature);
    case WindowMessage::who:
      return target_.asks_holders(from);
    case WindowMessage::witness:
      return target_.hears(from, bytes);
  }
}

}  // namespace tutti::rma
