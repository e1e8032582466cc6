// SPDX-License-Identifier: BSD-3-Clause
// Who waits in vain: the pure part of deadlock detection. Given what each process does and needs,
// finds those that can never go on, and who has to be asked for that. No communication, no clock.
//
// A process is alive if it is not blocked, or if what one of its blocked threads needs can still
// come true by those that are alive; a collective under way without a thread is alive if any of
// its messages can still move. The rest is dead: it waits for itself (contract/wait_graph.hpp). Processes about which
// nothing is known count as alive, so that ignorance never makes a deadlock.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "contract/wait_graph.hpp"
#include "life/condition.hpp"

namespace tutti::contract {

// A thread in a blocking call.
struct BlockedThread {
  life::Condition needs;
  // For the report, and asked for it alone: what it is in, and where in the program.
  std::string call, host, module;
  uint64_t offset = 0;
  uint64_t context = 0;  // of the collective that it is in; 0: none
  uint32_t serial = 0;
  uint64_t signature = 0;
};

// A collective under way; its needs are side by side at the top of the condition.
struct Course {
  uint64_t context = 0;
  uint32_t serial = 0;
  life::Condition needs;
};

// Messages that have come to a process on a user's channel, alike but for their data, for which no
// receive has been called. For the report: one of them mostly is the one that is waited for.
struct Lying {
  uint64_t context = 0;
  int64_t bytes = 0;     // of the first
  int32_t process = -1;  // their sender
  int32_t rank = -1;     // in their communicator, of the process that has them
  int32_t tag = 0;
  uint32_t count = 1;
  uint16_t pattern = 0;  // of the first: transport::Header's
  std::string comm;      // " on MPI_COMM_WORLD (2 ranks)"
  std::string why;       // they are not received: "it waits for tag 6"; empty: unknown
  std::string founds;    // of a message by which ranks make a communicator: "tag 5"; `why` is what the receiver gives
};

// One process at one moment.
struct ProcessState {
  bool blocked = false;  // no thread of it can act but those in `threads`, all of them blocked
  bool moving = false;   // bytes of a message are on their way into its memory
  bool ended = false;    // it is at its exit: blocked for ever, with one thread that stands in no call
  uint64_t epoch = 0;    // another one: something has happened in between
  std::vector<BlockedThread> threads;
  std::vector<Course> courses;
  // Messages to and from those that the question has named, itself not among them, so far and modulo 2^32; without those
  // of the detection.
  uint32_t sent = 0, received = 0;
  std::vector<Lying> lying;  // the first few, those that are most like what is waited for in front

  // Whoever is mentioned, some of them several times: visit(process).
  template <class Visit>
  void each_process(Visit&& visit) const {
    const auto actor = [&](const life::Actor& a) { visit(a.process); };
    for (const BlockedThread& thread : threads) thread.needs.each_actor(actor);
    for (const Course& course : courses) course.needs.each_actor(actor);
    for (const Lying& l : lying) visit(l.process);
  }
  // From the numbers of one process to those of another, -1 for whom it does not know.
  void renumber(const std::map<int, int>& numbers);
  // Conditions name each process by itself.
  void spell_out();

  void write(std::vector<std::byte>& to) const;
  bool read(std::span<const std::byte>& from);  // takes it off the front
};

using States = std::map<int, ProcessState>;  // by process id

// Of the graph of what is known: those that are not are alive, or not.
WaitGraph graph_of(const States& states, bool unknown_are_alive);
// Ascending.
std::vector<int> dead_processes(const States& states);
Circle circle_from(const States& states, int dead);
// Some of what these have sent each other has not arrived; each of them has been asked for its messages with just these.
bool are_messages_under_way(const States& states, std::span<const int> among);

// Whom to ask, one after the other, to know whether a process waits in vain: whoever it needs, whom these need, and so
// on. What each says is looked at once.
class Search {
 public:
  // `states`: of those that are known, `process` among them; it grows.
  void begin(const States& states, int process);
  // That process has become known.
  void add(int process);
  // -1: nobody more, until others become known. Each is told once.
  int next();

 private:
  void reach(const life::Actor& actor);
  void look();

  const States* states_ = nullptr;
  std::map<int, std::vector<life::Actor>> unknown_;  // what of it is needed
  std::deque<int> to_ask_;
  std::set<std::tuple<int, uint64_t, uint32_t>> reached_;
  std::set<std::tuple<int, uint32_t, int>> ranges_;  // that have been looked through
  std::vector<const life::Condition*> open_;
};

}  // namespace tutti::contract
