// SPDX-License-Identifier: BSD-3-Clause
// The memory of a file's shared pointer, where all its ranks are on one node: a page of rank 0's
// that the others map. Whoever wants the pointer moves it by one instruction, and nobody else has
// to do anything. No file of the file system is involved, and nothing stays, however a process
// ends.
#pragma once

#include <cstdint>

namespace tutti::mpi::file {

class SharedPointer {
 public:
  SharedPointer() = default;
  ~SharedPointer();
  SharedPointer(const SharedPointer&) = delete;

  // How another process of the node finds the page.
  struct Offer {
    int32_t process = -1, descriptor = -1;  // of the operating system; -1: there is no page
    uint64_t mark = 0;                      // that stands in it: another process may have these numbers
  };
  Offer offer(int64_t value);       // at rank 0
  bool accept(const Offer& offer);  // at the others; false: it cannot be reached
  // Whether it is to be used, which all agree about: they all have it.
  void use(bool all_have_it);

  explicit operator bool() const { return page_ != nullptr && used_; }
  int64_t add(int64_t etypes) { return __atomic_fetch_add(&page_->value, etypes, __ATOMIC_SEQ_CST); }
  int64_t set(int64_t etypes) { return __atomic_exchange_n(&page_->value, etypes, __ATOMIC_SEQ_CST); }

 private:
  struct Page {
    int64_t value;
    uint64_t mark;
  };
  Page* page_ = nullptr;
  int descriptor_ = -1;  // of the page, until it is used or not
  bool used_ = false;
};

}  // namespace tutti::mpi::file
