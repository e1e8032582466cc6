// SPDX-License-Identifier: BSD-3-Clause
// Reports: from what is known of the ranks to sentences. Pure, but for source lines and printing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/flight.hpp"
#include "base/os/source_place.hpp"
#include "base/ranks_text.hpp"
#include "contract/ledger.hpp"

namespace tutti::contract {

// What is wrong, as a user reads it.
struct Finding {
  uint64_t context = 0;  // of the hidden channel; 0: of no communicator
  uint32_t serial = 0;
  int error_class = 0;
  int exit_code = 0;     // of the job, where it ends; 0: the error class
  std::string sentence;  // without a full stop
  std::vector<std::string> details;
  std::string hint;  // ends the details of a sentence that is given; empty: the usual one
};

// How a rank stands to a collective call of its communicator.
enum class Status : uint8_t {
  silent,      // has not answered
  started,     // has started a call of that serial
  not_yet,     // is somewhere before it
  forgotten,   // has been there, too long ago to know
  freed,       // has freed the communicator
  finalizing,  // is in MPI_Finalize
  unknown,     // does not know the communicator (yet)
};

struct Side {
  int rank = -1;  // in the communicator
  int process = -1;
  Status status = Status::silent;
  Word word = 0;
  flight::CallRecord call;  // of that serial; else what the rank is doing now
  CodeAddress caller;
  std::string host;
};

// Over the wire; both sides share one architecture and one version.
struct Details {
  Status status;
  Word word;
  flight::CallRecord call;
  uint64_t offset;
  char module[512];
  char host[64];
};
Details pack(const Side& side);
Side unpack(const Details& details);

// "ranks 0 and 2"; on an intercommunicator "rank 1 of group A and ranks 0 to 2 of group B".
std::string ranks_of(const Ledger& ledger, const std::vector<int>& ranks);
// "MPI_COMM_WORLD (4 ranks)", "a communicator of 2 ranks made by MPI_Comm_split", "a communicator of
// 2 and 3 ranks made by MPI_Intercomm_create"
std::string description(const Ledger& ledger);

// Writes finding.sentence, unless there is one, and .details from the sides; false if they do not
// contradict each other after all.
bool describe(Finding& finding, const Ledger& ledger, const std::vector<Side>& sides);

// The same of two threads of this rank that are inside collective calls of one communicator: this
// one, and one in `theirs`.
void describe_two_threads(Finding& finding, const Ledger& ledger, const flight::CallRecord& theirs);

// The sentence on the first line, the details below.
std::string text_of(const Finding& finding);

}  // namespace tutti::contract
