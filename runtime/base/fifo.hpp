// SPDX-License-Identifier: BSD-3-Clause
// A queue in one piece of memory, which is empty without any: for lists of which there are many,
// most of them empty or short, and a few very long.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace tutti {

template <class T>
class Fifo {
 public:
  bool empty() const { return first_ == items_.size(); }
  T& front() { return items_[first_]; }
  const T& front() const { return items_[first_]; }
  void push_back(T item) { items_.push_back(std::move(item)); }
  // Moves what is left only when that is the smaller part.
  void pop_front() {
    if (++first_ * 2 < items_.size()) return;
    items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }

 private:
  std::vector<T> items_;
  size_t first_ = 0;  // those before it are gone
};

}  // namespace tutti
