// SPDX-License-Identifier: BSD-3-Clause
// Who waits in vain: the pure part of deadlock detection. Given what each process does and needs,
// finds those that can never go on. No communication, no clock.
//
// A process is alive if it is not blocked, or if what one of its blocked threads needs can still
// come true by those that are alive; a collective under way without a thread is alive if any of
// its messages can still move. The rest is dead: it waits for itself. Processes about which nothing
// is known count as alive, so that ignorance never makes a deadlock.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "life/condition.hpp"

namespace tutti::contract {

// A thread in a blocking call.
struct BlockedThread {
  life::Condition needs;
  // For the report: what it is in, and where in the program.
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

// Messages between me and another process so far, without those of the detection itself.
struct PeerTraffic {
  int32_t peer = 0;
  uint32_t sent = 0, received = 0;
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
  int64_t still_ms = 0;  // since something happened
  std::vector<BlockedThread> threads;
  std::vector<Course> courses;
  std::vector<PeerTraffic> traffic;
  std::vector<Lying> lying;  // the first few, those that are most like what is waited for in front

  // Whoever is mentioned, some of them several times: visit(process).
  template <class Visit>
  void each_process(Visit&& visit) const {
    const auto actor = [&](const life::Actor& a) { visit(a.process); };
    for (const BlockedThread& thread : threads) thread.needs.each_actor(actor);
    for (const Course& course : courses) course.needs.each_actor(actor);
    for (const PeerTraffic& t : traffic) visit(t.peer);
    for (const Lying& l : lying) visit(l.process);
  }
  // From the numbers of one process to those of another, -1 for whom it does not know.
  void renumber(const std::map<int, int>& numbers);

  void write(std::vector<std::byte>& to) const;
  bool read(std::span<const std::byte>& from);  // takes it off the front
};

using States = std::map<int, ProcessState>;  // by process id

// Ascending.
std::vector<int> dead_processes(const States& states);
// Processes that are needed to judge `process` and are not in `states`. Empty: the judgement
// stands.
std::vector<int> unknown_to(const States& states, int process);
// From one of the dead along what it needs.
struct Circle {
  // Each waits for the next and the last for the first; one may come twice, by way of a collective
  // that it passes on. Not closed: the one that needs what nobody can do.
  std::vector<int> members;
  bool closed = true;
};
Circle circle_from(const States& states, int dead);

}  // namespace tutti::contract
