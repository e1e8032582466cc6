// SPDX-License-Identifier: BSD-3-Clause
// Numbers and text into a run of bytes and back, between processes of one architecture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tutti {

using Bytes = std::vector<std::byte>;

template <class T>
  requires std::is_trivially_copyable_v<T>
void put(Bytes& to, const T& value) {
  const size_t at = to.size();
  to.resize(at + sizeof value);
  std::memcpy(to.data() + at, &value, sizeof value);
}
inline void put_text(Bytes& to, const std::string& text) {
  put(to, static_cast<uint32_t>(text.size()));
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  to.insert(to.end(), first, first + text.size());
}

// False if there is too little; then `value` is as it was.
template <class T>
  requires std::is_trivially_copyable_v<T>
bool get(std::span<const std::byte>& from, T& value) {
  if (from.size() < sizeof value) return false;
  std::memcpy(&value, from.data(), sizeof value);
  from = from.subspan(sizeof value);
  return true;
}
inline bool get_text(std::span<const std::byte>& from, std::string& text) {
  uint32_t length;
  if (!get(from, length) || from.size() < length) return false;
  text.assign(reinterpret_cast<const char*>(from.data()), length);
  from = from.subspan(length);
  return true;
}

}  // namespace tutti
