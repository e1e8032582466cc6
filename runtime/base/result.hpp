// SPDX-License-Identifier: BSD-3-Clause
// Error and Result<T>: how every layer reports what went wrong. An error is an MPI error class
// (MPI_ERR_*; the standard, section 9.4) and a sentence with the values in it. Nothing throws.
#pragma once

#include <fmt/core.h>

#include <cassert>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace tutti {

// Empty means success, costs one pointer and no allocation. True in a condition means failure:
//   if (Error e = step()) return e;
class [[nodiscard]] Error {
 public:
  Error() = default;
  Error(int mpi_class, std::string message) : what_(std::make_unique<What>(What{mpi_class, std::move(message)})) {}

  explicit operator bool() const { return what_ != nullptr; }
  int mpi_class() const { return what_ ? what_->mpi_class : 0; }
  const std::string& message() const {
    static const std::string none;
    return what_ ? what_->message : none;
  }
  // The same error with a longer story: "reading hosts: no such file".
  Error within(const std::string& context) && {
    if (what_) what_->message = context + ": " + what_->message;
    return std::move(*this);
  }

 private:
  struct What {
    int mpi_class;
    std::string message;
  };
  std::unique_ptr<What> what_;
};

template <class... Args>
Error failure(int mpi_class, fmt::format_string<Args...> format, Args&&... args) {
  return Error(mpi_class, fmt::format(format, std::forward<Args>(args)...));
}

// A value or an Error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {
    assert(std::get<1>(held_) && "a Result is made from a value or from a real error");
  }
  explicit operator bool() const { return held_.index() == 0; }  // true: there is a value
  T&& operator*() && { return std::get<0>(std::move(held_)); }
  T& operator*() & { return std::get<0>(held_); }
  const T& operator*() const& { return std::get<0>(held_); }
  T* operator->() { return &std::get<0>(held_); }
  const T* operator->() const { return &std::get<0>(held_); }
  Error error() && { return held_.index() == 1 ? std::move(std::get<1>(held_)) : Error(); }
  const Error& error() const& { return std::get<1>(held_); }

 private:
  std::variant<T, Error> held_;
};

}  // namespace tutti
