// SPDX-License-Identifier: BSD-3-Clause
// What a connection has still to send, in order. Short messages are gathered in pieces of its own; of a long parcel it holds
// the one copy that all have.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "launcher/data/parcel.hpp"

namespace tutti::launcher {

class Outbox {
 public:
  void put(std::string_view bytes) {
    if (pieces_.empty() || pieces_.back().is_closed || pieces_.back().own.size() >= kFull) pieces_.emplace_back();
    pieces_.back().own += bytes;
  }
  void put(const Parcel& parcel) {
    if (parcel.size() < kShared) return put(parcel.view());
    pieces_.push_back({.own = {}, .shared = parcel, .is_closed = true});
  }
  bool empty() const { return pieces_.empty(); }
  // What is next; not empty unless there is nothing at all.
  std::string_view front() const { return pieces_.empty() ? std::string_view() : pieces_.front().view().substr(sent_); }
  bool has_more_than_front() const { return pieces_.size() > 1; }
  void sent(size_t bytes) {  // of front()
    sent_ += bytes;
    if (sent_ < pieces_.front().view().size()) return;
    pieces_.pop_front();
    sent_ = 0;
  }
  void clear() {
    pieces_.clear();
    sent_ = 0;
  }

 private:
  static constexpr size_t kFull = 64 << 10, kShared = 4 << 10;
  struct Piece {
    std::string own;
    Parcel shared;
    bool is_closed = false;  // it is `shared`
    std::string_view view() const { return is_closed ? shared.view() : own; }
  };
  std::deque<Piece> pieces_;
  size_t sent_ = 0;  // of the first
};

}  // namespace tutti::launcher
