// SPDX-License-Identifier: BSD-3-Clause
#include "contract/ledger.hpp"

#include <mpi.h>

#include <utility>

#include "contract/checker.hpp"
#include "functions.hpp"

namespace tutti::contract {

void Ledger::early(Slot& slot, uint32_t serial, int rank, Word word) {
  if (slot.early_serial == serial) {  // two others who may disagree while I am not even there
    const Difference difference = compare(slot.early_word, word);
    // The data may rightly differ from pair to pair.
    if (difference != Difference::none && difference < Difference::type) checker_.mismatch(*this, serial, difference);
    return;
  }
  // An earlier one is still to come; this one is compared when it is received, or looked for.
  if (slot.early_word && static_cast<int32_t>(slot.early_serial - next_) >= 0) return;
  slot.early_word = word;
  slot.early_serial = serial;
  slot.early_rank = rank;
}

void Ledger::was_early(const Slot& slot) {
  if (slot.early_word != slot.word) differs(slot.serial, slot.early_rank, slot.early_word);
}

void Ledger::differs(uint32_t serial, int rank, Word theirs) {
  if (state_ != State::fine || serial == dismissed_) return;
  const Difference difference = compare(channel_.sides, word_of_call(serial), channel_.rank, theirs, rank);
  if (difference != Difference::none) checker_.mismatch(*this, serial, difference, {.rank = rank, .word = theirs});
}

void Ledger::flag_differs(uint32_t serial, Word theirs) {
  if (state_ != State::fine || serial == dismissed_) return;
  const Difference difference = compare(word_of_call(serial), theirs);
  if (difference != Difference::none) checker_.mismatch(*this, serial, difference);
}

void Ledger::settle_with_others() {
  transport::Area* const area = std::exchange(area_, nullptr);
  // Where a member has failed ranks have come to different calls.
  if (area && !is_harmed() && !area->settle(chain_)) contradicted(next_ - 1);
}

void Ledger::contradicted(uint32_t serial) {
  if (state_ != State::fine || serial == dismissed_) return;
  checker_.mismatch(*this, serial, Difference::function);
}

void Ledger::pair_differs(uint32_t serial, int rank, Word theirs, Word expected, int64_t their_bytes,
                          int64_t expected_bytes) {
  if (state_ != State::fine) return;
  const Difference difference = compare(expected, theirs);
  if (difference == Difference::none) return;
  if (difference < Difference::type) return checker_.mismatch(*this, serial, difference);
  checker_.pair_mismatch(*this, serial, rank, difference, their_bytes, expected_bytes);
}

// The mistake that nearly everybody makes once: the count of all ranks together in the place of each one's.
static const char* per_rank_hint(uint16_t function) {
  switch (static_cast<Function>(function)) {
    case Function::Gather:
    case Function::Allgather:
      return "; recvcount is how many come from each rank, not from all together";
    case Function::Scatter:
      return "; sendcount is how many go to each rank, not to all together";
    case Function::Alltoall:
      return "; sendcount and recvcount are those of one rank, not of all together";
    default:
      return "";
  }
}

void Ledger::own_block_differs(Word word, int error_class, const std::string& sent, const std::string& received) {
  if (state_ != State::fine) return;
  Finding finding;
  finding.context = channel_.context;
  finding.serial = next_;
  finding.error_class = error_class;
  finding.sentence = fmt::format("rank {} sends itself {} where it receives {} from itself, in {} on {}", channel_.rank,
                                 sent, received, name_of(word), description(*this));
  finding.hint = "what a rank sends to itself is what it expects from itself";
  if (error_class == MPI_ERR_COUNT) finding.hint += per_rank_hint(function_of(word));
  checker_.report_of_call(std::move(finding), word);
}

void Ledger::two_threads() {
  if (state_ != State::fine) return;
  Finding finding;
  finding.context = channel_.context;
  finding.serial = next_;
  finding.error_class = MPI_ERR_OTHER;
  describe_two_threads(finding, *this, *inside_);
  checker_.report(std::move(finding));
}

void Ledger::add(Abandonable& running) {
  running.previous = nullptr;
  running.next = running_;
  if (running_) running_->previous = &running;
  running_ = &running;
}

void Ledger::remove(Abandonable& running) {
  (running.previous ? running.previous->next : running_) = running.next;
  if (running.next) running.next->previous = running.previous;
  running.next = running.previous = nullptr;
}

void Ledger::break_with(int error_class, std::string text) {
  state_ = State::broken;
  error_class_ = error_class;
  error_text_ = std::move(text);
  while (Abandonable* running = running_) {  // each may end others, or start new ones in vain
    remove(*running);
    running->abandon();
  }
}

void Ledger::dismiss(uint32_t serial) {
  dismissed_ = serial;
  settle(State::fine);
}

void Ledger::settle(State state) {
  state_ = state;
  for (Abandonable* running = running_; running;) {
    Abandonable* next = running->next;
    running->resume();
    running = next;
  }
}

}  // namespace tutti::contract
