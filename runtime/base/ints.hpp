// SPDX-License-Identifier: BSD-3-Clause
// Ints: a view of an array of counts or displacements that a caller passed as int[], MPI_Count[] or
// MPI_Aint[]. The standard has every such function twice; with this view one implementation reads
// both. Owns nothing: the array must outlive the view, so what is kept past a call is copied.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tutti {

class Ints {
 public:
  enum class Width : uint8_t { four = 4, eight = 8 };  // bytes of an element

  constexpr Ints() = default;
  template <class T>
    requires(std::is_integral_v<T> && std::is_signed_v<T> && (sizeof(T) == 4 || sizeof(T) == 8))
  constexpr Ints(const T* data) : data_(data), width_(static_cast<Width>(sizeof(T))) {}

  const void* data() const { return data_; }
  Width width() const { return width_; }
  explicit operator bool() const { return data_ != nullptr; }  // false: the caller passed NULL

  int64_t operator[](int64_t i) const {
    // Copied byte by byte: MPI_Aint and MPI_Count may be different types of one width.
    if (width_ == Width::four) {
      int32_t value;
      std::memcpy(&value, static_cast<const char*>(data_) + i * 4, 4);
      return value;
    }
    int64_t value;
    std::memcpy(&value, static_cast<const char*>(data_) + i * 8, 8);
    return value;
  }

 private:
  const void* data_ = nullptr;
  Width width_ = Width::four;
};

}  // namespace tutti
