// SPDX-License-Identifier: BSD-3-Clause
// Arguments that all ranks must give alike to a call which makes a communicator: what each of them gives, as a number
// that travels with the call's own exchange, and, only if these numbers contradict each other, as texts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/function.hpp"
#include "base/process_list.hpp"
#include "engine/context.hpp"
#include "mpi/comm/comm.hpp"

namespace tutti::mpi {

// What this rank gives. Empty: nothing of it is compared, as where nothing is checked.
class Given {
 public:
  // Whether it is worth while to say anything: the same on all ranks, so not where other jobs may check otherwise.
  static bool is_asked_for(const Comm& comm) { return comm.hidden.ledger && !engine::spans_jobs(comm.context()); }

  void add(const char* name, int value);
  void add_truth(const char* name, bool value);
  void add(const char* name, std::span<const int> values);
  void add_truths(const char* name, std::span<const int> values);
  // Words that stand for a value, such as a constant's name.
  void add(const char* name, std::string text);

  // 0: nothing.
  uint32_t hash() const;

  struct Part {
    const char* name;
    uint32_t hash;
    std::string text;
  };
  const std::vector<Part>& parts() const { return parts_; }

 private:
  std::vector<Part> parts_;
};

// What a rank says before all others: the hash of what it gives, and where that is a group, its size.
struct Said {
  uint32_t hash = 0;
  int32_t members = 0;
};

// Collective, engine not owned: an error on all ranks if those that say something do not say the same, told with the
// calls of all of them. `said`: by rank of the hidden channel. Without an error, as where findings are only told, the
// call goes on.
Error agree(Comm& comm, Function function, const Given& mine, std::span<const uint32_t> said);
// The same where nothing has been exchanged yet.
Error agree(Comm& comm, Function function, const Given& mine);

// Of MPI_Comm_create: all members of a group give it, in one order, and on an intercommunicator all of a side. `said`
// and `inside` by rank of the hidden channel; `members`: mine, as its ranks.
Error agree_on_groups(Comm& comm, std::span<const Said> said, std::span<const char> inside,
                      std::span<const int> members);
// What stands for a group in it, whose members are these ranks, counted from `begin`; its hash is not 0.
Said said_of(const ProcessList& members, int begin);

}  // namespace tutti::mpi
