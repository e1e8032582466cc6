// SPDX-License-Identifier: BSD-3-Clause
// How `tutti why` asks the mpirun of a job, on the same machine, what the ranks of all its nodes
// do. mpirun listens on a socket with an abstract name, "tutti.JOB.why": it is no file, so that
// whatever ends mpirun nothing is left, and it is found without knowing mpirun's TMPDIR. Such a
// name has no permissions: both ends ask the kernel who the other is, and talk to the same user or
// root alone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "launcher/data/rank_groups.hpp"
#include "launcher/data/rank_view.hpp"
#include "launcher/loop/acceptor.hpp"
#include "launcher/loop/loop.hpp"

namespace tutti::launcher {

// The side of mpirun. Where it cannot listen there is nobody to be asked; the job does not mind.
class Inquiries {
 public:
  using Answer = std::function<void(const JobView&)>;
  using Asked = std::function<void(const Question&, Answer answer)>;
  Inquiries(Loop& loop, const std::string& job, Asked asked);
  ~Inquiries();
  Inquiries(const Inquiries&) = delete;

 private:
  struct Guest {
    int fd = -1;
    std::string bytes;  // of the question, then of the answer
    size_t sent = 0;
    Watch watch, patience;
    ~Guest();
  };
  void accepted(int fd);
  void read(int number);
  void answer(int number, const JobView& view);
  void write(int number);

  Loop& loop_;
  Asked asked_;
  std::unique_ptr<Acceptor> acceptor_;
  std::map<int, std::unique_ptr<Guest>> guests_;
  int next_guest_ = 0;
};

// The side of `tutti why`: the jobs of this machine whose mpirun listens …
std::vector<std::string> jobs_that_listen();
// … and what one of them says. An error: it does not answer in time, or (MPI_ERR_ACCESS) it is
// another user's.
// `question`: its number does not matter.
Result<JobView> ask_job(const std::string& job, const Question& question);

}  // namespace tutti::launcher
