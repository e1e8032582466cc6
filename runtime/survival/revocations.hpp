// SPDX-License-Identifier: BSD-3-Clause
// Which communicators are revoked, and who has to be told so, as a machine that is told of calls, messages and failures and
// hands out messages: it sends none itself, reads no clock, and can be run with made-up processes.
//
// Whoever revokes a communicator tells all its members. Whoever hears of that tells nobody, as long as the one that it
// has heard of it from lives: that one has told all, or does. Should that one fail, it tells all in its place. So a revocation
// costs one message for each member, and as soon as one process knows of it that goes on living all come to know. It takes
// for granted that each failure is told to everybody who lives, and that messages between two that live arrive.
//
// A process is a number, as in members/processes.hpp. One thread at a time.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/process_list.hpp"

namespace tutti::survival {

class Revocations {
 public:
  explicit Revocations(int self) : self_(self) {}

  // This process has a communicator of these members from now on. True: it is revoked already.
  bool open(uint64_t context, const ProcessList& members);
  // It has it no more, though it may have to tell others of it.
  void close(uint64_t context);

  // By this process' call; by the message of another. True: that is news, of a communicator that it has.
  bool revoke(uint64_t context) { return learn(context, self_); }
  bool hear(uint64_t context, int from) { return learn(context, from); }
  void fail(int process);

  // Whom to tell now that a communicator is revoked; there is nothing any more afterwards.
  struct Word {
    uint64_t context = 0;
    std::vector<int> to;
  };
  bool has_words() const { return !words_.empty(); }
  std::vector<Word> take_words() { return std::exchange(words_, {}); }

 private:
  static constexpr int kNobody = -1;
  struct Known {
    ProcessList members;  // empty: it is not known here yet, or no more
    int by = kNobody;     // who has told of its revocation, or answers for it that all are told
    bool is_open = false;
  };
  bool learn(uint64_t context, int from);
  void answer_for(uint64_t context, Known& known);

  const int self_;
  std::unordered_map<uint64_t, Known> known_;
  std::set<int> failed_;
  std::vector<Word> words_;
};

}  // namespace tutti::survival
