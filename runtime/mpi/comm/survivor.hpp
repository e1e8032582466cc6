// SPDX-License-Identifier: BSD-3-Clause
// What becomes of communicators when processes fail and the job goes on without them (the setting failure.action; no part
// of MPI 5.0): who of each is known to have failed and has been acknowledged, which ones are revoked, and what their
// ranks agree on though some of them fail. Owns this knowledge, ends with an error what waits for one who has failed, and
// carries the messages of survival/. Refuses to judge who has failed, which members/ knows, and to carry data.
//
// There is one in a process, and only where the job goes on. Until somebody has failed, or something is revoked, it costs
// a look at the list of changes in each pass of the engine. With the engine owned, unless it says otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/engine_owned.hpp"
#include "base/mutex.hpp"
#include "engine/active.hpp"
#include "engine/judge.hpp"
#include "engine/wait/poller.hpp"
#include "life/blocked.hpp"
#include "life/condition.hpp"
#include "mpi/comm/ballot_box.hpp"
#include "mpi/comm/comm.hpp"
#include "survival/agreement.hpp"
#include "survival/revocations.hpp"

namespace tutti::mpi {

class Survivor final : private engine::Poller, private engine::ActiveHandler, private engine::Judge {
 public:
  // What receives from anybody that have a request do when one who might send has failed: they stay, and the calls that
  // complete them say so. interrupt() returns false for others. Later resume() lets them go on.
  struct Hooks {
    bool (*interrupt)(engine::RecvOperation&) = nullptr;
    void (*resume)(engine::RecvOperation&) = nullptr;
    // A process has failed: ends with an error of this class what other chapters wait for of it, beside messages.
    void (*lost)(int process, int mpi_class) = nullptr;
    // Before anybody hears of the failure: reports as failed those of other jobs who were connected through this process alone.
    void (*cut_off)(int process) = nullptr;
  };
  Survivor(Process& process, const Hooks& hooks) TUTTI_ENGINE_OWNED;
  ~Survivor();

  // A communicator has its context, and will have it no more. Any thread, with the engine owned or not.
  void made(Comm& comm);
  void gone(const Comm& comm);

  // Ranks of the communicator have another context for messages of its users, in which they are sources by the same
  // numbers; and have it no more. The engine need not be owned.
  // What belongs to it beside messages, and waits for what nobody may do any more, is to end with an error: `ends` is
  // called with its class, the engine owned, when the process `peer` has failed and when `of` is revoked. nullptr: nothing.
  using Ends = std::function<void(int mpi_class)>;
  void add_context(uint64_t context, const Comm& of, int peer, Ends ends);
  void remove_context(uint64_t context);
  // The class of the error with which what begins on it for this peer fails; 0: none of that has come to pass.
  int harm(const Comm& comm, int peer) const;

  // ---- what programs ask

  // Members of either group, in the order in which their failures became known here.
  std::vector<int> failed(const Comm& comm) TUTTI_ENGINE_OWNED;
  std::vector<int> acknowledged(const Comm& comm) const;
  // The first so many of them; how many are acknowledged then.
  int acknowledge(const Comm& comm, int count) TUTTI_ENGINE_OWNED;
  bool is_revoked(const Comm& comm) const;
  void revoke(const Comm& comm) TUTTI_ENGINE_OWNED;

  // Ends all members that live, this process too, by exiting with this code; of what others are told is why. It returns if
  // nobody else of the job lives: then it is the job that ends.
  void end_members(const Comm& comm, int code, const std::string& why) TUTTI_ENGINE_OWNED;

  // Why a collective on this channel, which is harmed, fails.
  Error refusal(const engine::Channel& channel) const;
  // With --check=strict. A collective has told the program that a member has failed, which is to act on that: acknowledge
  // it, revoke the communicator or make another one. Before that another collective is called, which is told once.
  void told_of_failure(const Comm& comm);
  void warn_if_told(const engine::Channel& channel);
  // Why a probe for messages of this rank, or of any, fails of which none is there.
  Error refusal_of_probe(const Comm& comm, int source) const;

  // ---- agreements: in memory that all ranks share (mpi/comm/ballot_box.hpp), or by messages (survival/agreement.hpp)

  // What this rank knows of the members, beside which it contributes a flag and a word.
  survival::Contribution contribution(const Comm& comm) TUTTI_ENGINE_OWNED;
  // The communicator's next one: all who live call it, in one order. `then` hears of the decision, perhaps at once.
  using Then = BallotBox::Then;
  life::Actor agree(Comm& comm, survival::Contribution mine, Then then) TUTTI_ENGINE_OWNED;
  // That nothing is called on the communicator any more, and nobody waits for its members; it meets no other agreement.
  life::Actor agree_to_end(const Comm& comm, Then then) TUTTI_ENGINE_OWNED;
  // Whose action an agreement needs that goes by this name, which either function has given.
  void add_needs(const life::Actor& name, life::Condition& needs) const TUTTI_ENGINE_OWNED;
  // Looks for what agreements in memory wait for, which poll() does, too. True: there was something.
  bool look_for_ballots() TUTTI_ENGINE_OWNED;
  bool awaits_ballots() const TUTTI_ENGINE_OWNED { return !awaiting_.empty(); }

 private:
  // Header::tag of what survivors tell each other; Header::ticket is the users' context.
  enum Word : int32_t { kRevocation, kAgreement, kEnd, kFailure };
  struct Members {
    Comm* comm = nullptr;
    std::vector<int> failed;  // process numbers
    size_t acknowledged = 0;  // the first so many
    bool revoked = false;
    size_t told = 0;  // so many had failed when the program was told; with --check=strict
    bool warned = false;
  };
  struct Other {
    uint64_t of;  // the communicator's own context
    int peer;
    Ends ends;
  };
  struct Talks;
  // Is under way, for the engine, from this rank's call to the decision.
  struct Round : life::UnderWay {
    Round(const Talks& talks, uint64_t context, uint32_t serial);
    const Talks& talks;
    survival::Agreement machine;
    Then then;  // until it has been told
  };
  // The agreements of a communicator, which outlive it: others may still have to be told what was decided.
  struct Talks {
    survival::Shape shape;
    ProcessList members;  // by rank of the hidden channel; empty: the communicator is not known here yet
    uint32_t next = 0;
    uint32_t forgotten = 0;  // those before it: all who live have heard their decisions
    std::map<uint32_t, std::unique_ptr<Round>> rounds;
    std::vector<std::pair<transport::Header, std::string>> early;
    bool knows_how = false;          // whether there is a box has been found out
    std::unique_ptr<BallotBox> box;  // nullptr: by messages
    bool is_awaiting = false;        // it is in awaiting_
  };

  bool poll() override TUTTI_ENGINE_OWNED;
  void handle(const transport::Header& header, const std::byte* data) override TUTTI_ENGINE_OWNED;
  int refuses(const engine::Match& match) override TUTTI_ENGINE_OWNED;
  void posted(engine::RecvOperation& receive) override TUTTI_ENGINE_OWNED;

  // Of the communicator whose messages have this context; members_.end(): of none.
  std::unordered_map<uint64_t, Members>::const_iterator find(uint64_t context) const TUTTI_REQUIRES(mutex_);
  void begin_to_judge() TUTTI_ENGINE_OWNED;
  bool take_changes() TUTTI_ENGINE_OWNED;
  bool hear_all() TUTTI_ENGINE_OWNED;
  void hear(const transport::Header& header, const std::string& text) TUTTI_ENGINE_OWNED;
  void lose(int process) TUTTI_ENGINE_OWNED;
  void end_others(const std::function<bool(const Other&)>& are_due, int mpi_class) TUTTI_ENGINE_OWNED;
  void judge_posted() TUTTI_ENGINE_OWNED;
  // If it is due to, which is told here; it may be gone then. False: it stays, perhaps interrupted.
  bool ends(engine::RecvOperation& receive) TUTTI_ENGINE_OWNED;
  int verdict(const engine::RecvOperation& receive, bool& may_be_interrupted) const;
  // Of a rank of this job, to those of others.
  transport::Header failure_of(int process) const;
  void take_failure(const transport::Header& header) TUTTI_ENGINE_OWNED;
  // Of the call of `by`, which may be this process.
  void take_revocation(uint64_t context, int by) TUTTI_ENGINE_OWNED;
  void tell_revocations() TUTTI_ENGINE_OWNED;
  static void introduce(Talks& talks, const Comm& comm);  // of that communicator, if it is not known here yet
  Talks& talks_of(const Comm& comm) TUTTI_ENGINE_OWNED;
  void receive_early(Talks& talks) TUTTI_ENGINE_OWNED;
  BallotBox* box_of(Comm& comm, Talks& talks) TUTTI_ENGINE_OWNED;
  bool look_into_box(Talks& talks) TUTTI_ENGINE_OWNED;
  void is_decided(const ProcessList& members, const survival::Decision& decision, const Then& then) TUTTI_ENGINE_OWNED;
  life::Actor begin(const Comm& comm, uint32_t serial, survival::Contribution mine, Then then) TUTTI_ENGINE_OWNED;
  Round& round_of(uint64_t context, Talks& talks, uint32_t serial);
  void receive(Talks& talks, const transport::Header& header, std::string_view text) TUTTI_ENGINE_OWNED;
  void end(Round& round) TUTTI_ENGINE_OWNED;
  void go_on(uint64_t context, Talks& talks, uint32_t serial) TUTTI_ENGINE_OWNED;
  static uint32_t settled(const Talks& talks);

  Process& process_;
  const Hooks hooks_;
  size_t read_ = 0;    // of the changes of members
  uint32_t ends_ = 0;  // agreements of agree_to_end()
  bool judges_ = false;
  std::atomic<bool> owes_words_{false};  // of the revocation of a communicator that has just been made
  std::deque<std::pair<transport::Header, std::string>> heard_
      TUTTI_OWNERS;  // what others have told, until the next poll()

  mutable Mutex mutex_;  // for what threads that make and free communicators change; nobody is called while it is held
  std::unordered_map<uint64_t, Members> members_ TUTTI_GUARDED_BY(mutex_);  // by context of the users' channel
  std::unordered_map<uint64_t, Other> others_ TUTTI_GUARDED_BY(mutex_);     // by the context of add_context()
  std::vector<int> lost_ TUTTI_GUARDED_BY(mutex_);                          // all that have failed, in that order
  survival::Revocations revocations_ TUTTI_GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, Talks> talks_ TUTTI_OWNERS;
  std::vector<Talks*> awaiting_ TUTTI_OWNERS;  // those whose boxes have calls, and perhaps some that have none any more
};

// nullptr: the failure of a rank ends the job.
const std::shared_ptr<Survivor>& survivor_of(const Comm& comm);
// Why a collective on this channel, which is harmed, fails.
Error refusal(const engine::Channel& channel);
// As Process::end_members says; nothing where there is no survivor. The engine is not owned.
void end_members(const HasErrhandler& of, int code, const std::string& why);

}  // namespace tutti::mpi
