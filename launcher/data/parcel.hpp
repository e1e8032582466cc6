// SPDX-License-Identifier: BSD-3-Clause
// Bytes that several connections send: they are held once, by all who have still to send them, and nobody changes them.
// And a value that several nodes are told, whose form on the wire is made once, by the first who needs it. On the loop's
// thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tutti::launcher {

class Parcel {
 public:
  Parcel() = default;
  Parcel(std::string bytes)  // where bytes are made they are a text
      : bytes_(bytes.empty() ? nullptr : std::make_shared<const std::string>(std::move(bytes))) {}
  std::string_view view() const { return bytes_ ? std::string_view(*bytes_) : std::string_view(); }
  size_t size() const { return view().size(); }
  // The same memory is not looked at, however long it is.
  bool operator==(const Parcel& other) const { return bytes_ == other.bytes_ || view() == other.view(); }

 private:
  std::shared_ptr<const std::string> bytes_;  // none: no bytes
};

template <class T>
class Common {
 public:
  explicit Common(T value) : value_(std::move(value)) {}
  const T& operator*() const { return value_; }
  const T* operator->() const { return &value_; }
  // `pack`: of a T, as a text; called once.
  template <class Pack>
  const Parcel& packed(Pack pack) const {
    if (!packed_) packed_ = Parcel(pack(value_));
    return *packed_;
  }

 private:
  T value_;
  mutable std::optional<Parcel> packed_;
};

}  // namespace tutti::launcher
