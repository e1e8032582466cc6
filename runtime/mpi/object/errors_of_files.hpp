// SPDX-License-Identifier: BSD-3-Clause
// Files return errors unless the program says otherwise, so that a job whose calls on a file do not fit together goes on
// behind the report. Its exit code says so at the end, unless the program looks at errors: by a handler of files, or by
// asking what a code means. Any thread.
#pragma once

#include <atomic>

namespace tutti::mpi {

// Read by MPI_Finalize, which comes behind the calls of all threads: no order is wanted.
struct ErrorsOfFiles {
  std::atomic<bool> told = false;       // this process has printed a report of calls on a file
  std::atomic<bool> looked_at = false;  // the program looks at errors
  bool are_overlooked() const {
    return told.load(std::memory_order_relaxed) && !looked_at.load(std::memory_order_relaxed);
  }
};
// One for the whole process, as it has one end.
ErrorsOfFiles& errors_of_files();

}  // namespace tutti::mpi
