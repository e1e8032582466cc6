// SPDX-License-Identifier: BSD-3-Clause
// Execution: a plan bound to the buffers of one call, and the run of it. One plan has three lives:
// prepare (bind: the persistent form; preparation.hpp), start (post: the nonblocking form), run (start and wait:
// the blocking form). An execution resumes when one of its messages is done, or a flag that it awaits
// is raised, and never blocks; it runs wherever the engine is being driven.
//
// There are two kinds: programs, whose steps follow each other (program/program_run.hpp), and graphs, whose
// steps become ready when those that they wait for are done (graph/graph_run.hpp). Here is what both have: the parts
// of which a run consists, how it begins and ends, where it is listed meanwhile, and whom it waits for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/engine_owned.hpp"
#include "contract/ledger.hpp"
#include "engine/channel.hpp"
#include "engine/wait/poller.hpp"
#include "exec/binding.hpp"
#include "exec/messages.hpp"
#include "exec/pieces.hpp"
#include "exec/rounds.hpp"
#include "life/blocked.hpp"

namespace tutti::exec {

class Execution : private engine::Poller, private life::UnderWay, private Messages::Run {
 public:
  // Called once for each start, with the engine owned, perhaps before start() returns. The
  // execution is not touched after it: it may be started again or destroyed there. nullptr: nothing
  // is called.
  void (*on_complete)(Execution&) = nullptr;
  void* owner = nullptr;  // for on_complete's use
  int mpi_class = 0;      // of the first error (MPI_ERR_TRUNCATE, …); set when complete

  virtual ~Execution();  // not while it runs
  Execution(const Execution&) = delete;

  // Binds it to a call of its plan's shape. Not while it runs. Fails with MPI_ERR_NO_MEM.
  virtual Error bind(const Call& call) { return binding_.bind(call); }
  // Takes the channel's next serial and posts what can be posted. The
  // order of starts on a channel is the order in which its calls meet those of the other ranks.
  virtual void start() TUTTI_ENGINE_OWNED = 0;
  // The same, and waits until it is over, or until the channel's ledger is disturbed.
  virtual void run() TUTTI_ENGINE_OWNED = 0;
  // Ends it before its time, with this error: nothing new is posted, what can be withdrawn is, and
  // on_complete is called when the rest has come back. Only while it runs.
  void abandon(int error_class) TUTTI_ENGINE_OWNED;
  // Ends all that are under way, whatever their kind, on channels that `which` names, as abandon() does.
  static void abandon_those(engine::Engine& engine, const std::function<bool(const engine::Channel&)>& which,
                            int error_class) TUTTI_ENGINE_OWNED;
  // Goes on after its communicator's ledger was disturbed; meanwhile it stands still.
  virtual void resume() TUTTI_ENGINE_OWNED = 0;

  bool running() const { return state_ != State::over; }
  // Adds the calls at other ranks whose messages it cannot go on without, side by side; nothing if
  // it does not run.
  void add_needs(life::Condition& needs) const TUTTI_ENGINE_OWNED;
  // Bytes that it takes while it is kept: with its scratch, and with its plan, which others may have, too.
  virtual size_t footprint() const = 0;
  uint32_t serial() const { return UnderWay::serial; }  // of the latest start
  Binding& binding() { return binding_; }
  const Call& call() const { return binding_.call(); }
  const Plan& plan() const { return binding_.plan(); }
  engine::Channel& channel() const { return channel_; }

 protected:
  Execution(engine::Channel& channel, std::shared_ptr<const Plan> plan, const Call& call);

  // The call begins, with its rounds. False: their turn has not come; poll() is called once it has.
  bool begin() TUTTI_ENGINE_OWNED;
  // It is over, and perhaps gone.
  void end() TUTTI_ENGINE_OWNED;
  // Until it is over, or stands still.
  void wait() TUTTI_ENGINE_OWNED;
  void keep_polling() TUTTI_ENGINE_OWNED { list(Listed::polled); }
  bool is_late() const { return listed_ == Listed::late; }
  bool is_abandoned() const { return state_ == State::abandoned; }
  // What is posted now ends nothing, though it be done at once: the run looks afterwards.
  template <class Work>
  void without_end(Work&& work) TUTTI_ENGINE_OWNED {
    const bool within = std::exchange(at_work_, true);
    work();
    at_work_ = within;
  }
  bool is_at_work() const { return at_work_; }
  void note(int error_class) TUTTI_ENGINE_OWNED;  // of what has ended; the first error counts
  // A message has ended with this error. Where none has come, what this rank would go on to tell others were not what it
  // should be: it is abandoned, and true; it may be over then, and gone.
  bool ends_with(int error_class) TUTTI_ENGINE_OWNED { return error_class != 0 && ends_with_failure(error_class); }
  void leave(uint32_t round) TUTTI_ENGINE_OWNED {
    rounds_.leave(round);
    if (!rounds_.late().empty()) [[unlikely]]
      admit_late();
  }
  // A function of the program's that the progress thread must not call.
  bool waits_for_application(Step::Kind kind) const TUTTI_ENGINE_OWNED {
    return kind == Step::Kind::reduce && call().reduction.on_application_threads && helper_drives();
  }

  size_t footprint_of_parts() const { return binding_.footprint() + messages_.footprint(); }

  engine::Channel& channel_;
  Rounds rounds_;
  Binding binding_;
  Messages messages_;
  Pieces pieces_;

 private:
  enum class State : uint8_t { over, running, abandoned };
  // Where it waits to be asked: for its turn, or in each pass of the engine.
  enum class Listed : uint8_t { nowhere, late, polled };

  // The step of the rounds at which it stands; nullptr: none.
  virtual const Step* standing_at() const TUTTI_ENGINE_OWNED = 0;
  // Something has become possible, or it is abandoned. It may be over then, and gone.
  virtual void go_on() TUTTI_ENGINE_OWNED = 0;
  void list(Listed where) TUTTI_ENGINE_OWNED {
    if (listed_ != where) relist(where);
  }
  void relist(Listed where) TUTTI_ENGINE_OWNED;
  void admit_late() TUTTI_ENGINE_OWNED;
  [[gnu::cold]] bool ends_with_failure(int error_class) TUTTI_ENGINE_OWNED;
  bool helper_drives() const TUTTI_ENGINE_OWNED;  // the engine

  State state_ = State::over;
  Listed listed_ = Listed::nowhere;
  bool at_work_ = false;
};

}  // namespace tutti::exec
