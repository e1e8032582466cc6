// SPDX-License-Identifier: BSD-3-Clause
// How one knows the library of an MPI that is not this one: by its file's name, in what a program needs and in what a
// process has in memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/loop/loop.hpp"

namespace tutti::launcher {

// What the libraries of one program say, seen one by one.
class MpiLibraries {
 public:
  void see(std::string_view file);  // with or without its folders
  // Another MPI's is among them, and none of whichever MPI has the standard's ABI: with that a program is at home here,
  // and what else it has is a translation.
  bool is_foreign() const { return mpi_ && !standard_; }
  bool is_standard() const { return standard_; }
  // The first of them.
  const std::string& library() const { return library_; }
  const char* mpi() const { return mpi_; }  // whose it is
  // A client of PMIx, whose ranks meet each other by our server: Open MPI 5 finds them by nothing else. Earlier ones
  // have a runtime of their own; MPICH may have PMIx's library and find its ranks by PMI-1 all the same.
  bool joins_by_pmix() const { return open_mpi_ && may_join_by_pmix(); }
  // Whichever MPI it is: while it has not called MPI_Init nobody can tell.
  bool may_join_by_pmix() const { return pmix_ && !own_runtime_; }

 private:
  std::string library_;
  const char* mpi_ = nullptr;
  bool standard_ = false, open_mpi_ = false, pmix_ = false, own_runtime_ = false;
};

struct LoadedMpi {
  std::string program;  // as the kernel names the process
  std::string library;  // the file's name
  const char* mpi;
};
// What that process or one below it has in memory, but for those that another launcher has started, and what may
// not be read at once. Until `end`; `last`: nobody will look again, so that also one counts that may still call MPI_Init and
// join by PMIx.
std::optional<LoadedMpi> loaded_other_mpi(int pid, std::chrono::steady_clock::time_point end, bool last);

// A program may load its MPI while it runs, or run behind a command that hides it: so the processes that have not
// met the launcher are looked at some times in their first seconds, until one is found or none is left.
class OtherMpiLook {
 public:
  using Processes = std::function<std::vector<int>()>;  // those to look at
  using Tell = std::function<void(const LoadedMpi&)>;
  OtherMpiLook(Loop& loop, Processes processes, Tell tell);
  OtherMpiLook(const OtherMpiLook&) = delete;

 private:
  void wait();
  void look();

  Loop& loop_;
  Processes processes_;
  Tell tell_;
  std::chrono::steady_clock::time_point start_;
  size_t looks_ = 0;
  size_t first_ = 0;  // where a look begins that follows one which took too long
  Watch timer_;
};

}  // namespace tutti::launcher
