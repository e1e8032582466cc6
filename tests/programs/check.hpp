// SPDX-License-Identifier: BSD-3-Clause
// What every MPI program of the tests includes: checks that say where, which rank, what was got and
// what was expected, and end the whole job. They need nothing but an MPI library, so that the
// programs can be run against other MPIs too (peers.sh): a program that a peer fails is suspect.
#pragma once

#define MPICH_SKIP_MPICXX 1
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#if defined(OPEN_MPI) || defined(MPICH_VERSION)
#define OTHER_MPI 1
#endif

#include <algorithm>
#include <chrono>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace check {

inline int world_rank = -1;

template <class T>
std::string shown(const T& value) {
  std::ostringstream out;
  out.precision(17);
  if constexpr (sizeof(T) == 1)
    out << static_cast<int>(value);
  else
    out << value;
  return out.str();
}

[[noreturn]] inline void fail(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "%s:%d: rank %d: %s\n", file, line, world_rank, what.c_str());
  std::fflush(stderr);
  int has_world = 0;
  MPI_Initialized(&has_world);
  if (has_world) MPI_Abort(MPI_COMM_WORLD, 1);
  std::_Exit(1);  // a program of sessions alone
}

inline std::string error_text(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return std::string(text, length);
}
inline int error_class(int code) {
  int result = -1;
  MPI_Error_class(code, &result);
  return result;
}

// One per program: initialises, sets errors to be returned, and says "ok" at the end.
class Program {
 public:
  Program(int* argc, char*** argv, int level = MPI_THREAD_SINGLE) {
    int provided = -1;
    if (MPI_Init_thread(argc, argv, level, &provided) != MPI_SUCCESS || provided < level)
      fail(__FILE__, __LINE__, "MPI_Init_thread did not give level " + std::to_string(level));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~Program() {
    MPI_Barrier(MPI_COMM_WORLD);
    const int rank = world_rank;
    if (MPI_Finalize() != MPI_SUCCESS) std::_Exit(1);
    if (rank == 0) std::puts("ok");
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  int rank() const { return world_rank; }
  int size() const { return size_; }

 private:
  int size_ = 0;
};

inline double seconds() {
  using clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
}

// Values that depend on everything that could be mixed up.
inline unsigned mix(unsigned a, unsigned b = 0, unsigned c = 0) {
  unsigned h = a * 2654435761u ^ (b + 0x9e3779b9u) * 2246822519u ^ (c + 0x85ebca6bu) * 3266489917u;
  return h ^ (h >> 15);
}
inline std::vector<unsigned char> pattern(size_t size, unsigned seed) {
  std::vector<unsigned char> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(mix(seed) + i * 7 + i / 251);
  return bytes;
}

}  // namespace check

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) check::fail(__FILE__, __LINE__, "not true: " #condition); \
  } while (false)

#define CHECK_EQ(got, expected)                                                                             \
  do {                                                                                                      \
    const auto got_ = (got);                                                                                \
    const auto expected_ = (expected);                                                                      \
    if (!(got_ == static_cast<std::decay_t<decltype(got_)>>(expected_)))                                    \
      check::fail(__FILE__, __LINE__,                                                                       \
                  std::string(#got " is ") + check::shown(got_) + ", expected " + check::shown(expected_)); \
  } while (false)

// As CHECK_EQ, with words that say which round of a loop this is.
#define CHECK_EQ_IN(got, expected, ...)                                                                               \
  do {                                                                                                                \
    const auto got_ = (got);                                                                                          \
    const auto expected_ = (expected);                                                                                \
    if (!(got_ == static_cast<std::decay_t<decltype(got_)>>(expected_))) {                                            \
      char where_[256];                                                                                               \
      std::snprintf(where_, sizeof where_, __VA_ARGS__);                                                              \
      check::fail(                                                                                                    \
          __FILE__, __LINE__,                                                                                         \
          std::string(#got " is ") + check::shown(got_) + ", expected " + check::shown(expected_) + " in " + where_); \
    }                                                                                                                 \
  } while (false)

// The call succeeds.
#define OK(call)                                                                                             \
  do {                                                                                                       \
    const int code_ = (call);                                                                                \
    if (code_ != MPI_SUCCESS) check::fail(__FILE__, __LINE__, #call " failed: " + check::error_text(code_)); \
  } while (false)

// The call fails with this error class.
#define FAILS(call, wanted)                                                                         \
  do {                                                                                              \
    const int code_ = (call);                                                                       \
    if (check::error_class(code_) != (wanted))                                                      \
      check::fail(__FILE__, __LINE__,                                                               \
                  #call " gave \"" + check::error_text(code_) + "\", expected the class " #wanted); \
  } while (false)
