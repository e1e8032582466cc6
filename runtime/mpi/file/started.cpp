// SPDX-License-Identifier: BSD-3-Clause
// Accesses that are started and complete later: nonblocking ones (the standard, section 14.4) and
// split collectives (14.4.5). Threads of the pool do the work; those of collective accesses take
// the steps of mpi/file/together.hpp, whose exchanges go on by themselves, as those of every
// nonblocking collective do.
#include <atomic>

#include "engine/engine.hpp"
#include "function_names.hpp"
#include "io/worker_pool.hpp"
#include "mpi/check/buffers.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/coll/collective_start.hpp"
#include "mpi/file/access.hpp"
#include "mpi/file/representation.hpp"
#include "mpi/file/together.hpp"
#include "mpi/file/written.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/object/status.hpp"
#include "mpi/request/request.hpp"

namespace tutti::mpi::file {

class FileRequest final : public Request {
 public:
  explicit FileRequest(PlacedAccess job) : Request(Kind::file, job.file->comm()), job_(std::move(job)) {}

  // From here to its completion the engine's owner alone counts references to it. A program's own
  // conversion functions are called by its own threads.
  void start() {
    {
      const engine::Engine::Guard own(engine_of_process());
      enter();
    }
    if (calls_user(job_) || job_.bytes() == 0) return perform_now();
    io::submit(io::make_queue(), [this] { perform_now(); });
  }
  // With those of the other ranks. `mine`: this rank cannot take part; the object goes when the
  // others know.
  void start_together(Function function, Error mine = {}) {
    unheard_ = static_cast<bool>(mine);
    together_ = std::make_unique<Together>(job_, function, true, std::move(mine));
    const engine::Engine::Guard own(engine_of_process());
    enter();
    File& file = *job_.file;
    ++file.waiting_turns;
    file.turns.push_back(this);
    if (file.turns.size() == 1) go_on();
  }
  // Whether threads of the library must not perform it.
  static bool calls_user(const PlacedAccess& job) {
    return job.view && job.view->representation->kind == Representation::Kind::registered;
  }

  // The program gets a handle of it.
  void note_handle() {
    untold_ = true;
    ++job_.file->untold;
  }

  // Whoever asks tells the program that it is complete.
  void fill(MPI_Status& status) const override {
    note_told();
    fill_empty(status);
    set_status_bytes(status, outcome_.bytes);
  }
  Error error() const override {
    const Error& error = outcome_.error;
    return error ? Error(error.mpi_class(), error.message()) : Error();
  }
  Error cancel() override TUTTI_ENGINE_OWNED {
    return failure(MPI_ERR_REQUEST,
                   "the request belongs to an access to a file, which cannot be cancelled (the "
                   "standard, section 14.6.5)");
  }
  HasErrhandler& raises_on() const override { return *job_.file; }

  // The exchange that it, or the one whose turn it is, waits for; nothing while that moves bytes of
  // the file.
  void add_open_needs(life::Condition& needs) const override TUTTI_ENGINE_OWNED {
    if (!together_ || job_.file->turns.empty()) return void(needs.always());
    const Request* const step = job_.file->turns.front()->step_;
    step ? step->add_needs(needs) : void(needs.always());
  }

 private:
  ~FileRequest() override { note_told(); }
  void note_told() const {
    if (untold_.exchange(false)) --job_.file->untold;
  }
  void enter() TUTTI_ENGINE_OWNED {
    if (!unheard_) ++job_.file->accesses;
    begin();
  }
  void leave() TUTTI_ENGINE_OWNED {
    if (job_.file->written && !outcome_.error && !unheard_) [[unlikely]]
      job_.file->written->add(job_, started_);
    if (!unheard_) --job_.file->accesses;
    engine_of_process().note_event();
    finish(!outcome_.error || unheard_);
  }
  void perform_now() {
    outcome_ = perform(job_);
    const engine::Engine::Guard own(engine_of_process());
    leave();
  }
  void go_on() {
    io::submit(job_.file->steps, [this] { take_step(); });
  }
  // One at a time, for the file's steps are one queue.
  void take_step() {
    const coll::Call* const call = failed_ ? nullptr : together_->next();
    const engine::Engine::Guard own(engine_of_process());
    if (call) {
      const auto over = [this](Error error) {
        failed_ = std::move(error);
        go_on();
      };
      // It may be over at once, and have failed: what `over` has noted stays.
      Error refused = start_step(*comm, *call, over, step_);
      if (!refused) return;
      failed_ = std::move(refused);
    }
    outcome_ = std::move(together_->outcome);
    if (failed_) outcome_ = {0, std::move(failed_)};
    File& file = *job_.file;
    file.turns.pop_front();
    --file.waiting_turns;
    if (!file.turns.empty()) file.turns.front()->go_on();
    const bool unheard = unheard_;
    leave();
    if (unheard) release();
  }

  const PlacedAccess job_;
  const CallSite started_ = strict ? here() : CallSite();
  io::Transferred outcome_;
  std::unique_ptr<Together> together_;       // nullptr: it asks nobody
  const Request* step_ = nullptr;            // the exchange that is under way; the engine's owner's
  Error failed_;                             // of an exchange
  mutable std::atomic<bool> untold_{false};  // the program has a handle, and was not told of its end
  bool unheard_ = false;                     // the call that started it has failed
};

void await_earlier(File& file) {
  if (file.waiting_turns == 0) return;
  const engine::Engine::Guard own(engine_of_process());
  engine_of_process().wait_until([&]() TUTTI_ENGINE_OWNED { return file.turns.empty(); },
                                 [&](life::Condition& needs) TUTTI_ENGINE_OWNED {
                                   if (!file.turns.empty()) file.turns.front()->add_needs(needs);
                                 });
}

namespace {

Error take_buffer(FileRequest& made, const PlacedAccess& job) {
  if (!watches_buffers || job.count == 0) [[likely]]
    return {};
  const BufferUse use = use_of(job);
  if (Error e = take_buffers(made, {&use, 1})) return e;
  if (strict) strict->keep(made, {&use, 1}, {"the buffer", "access to the file", "14.4.1"});
  return {};
}

// Whether the ranks have something to tell each other.
bool goes_together(const File& file, const PlacedAccess& job) {
  return file.size() > 1 && !FileRequest::calls_user(job);
}

void start(FileRequest& request, bool together, Function function) {
  together ? request.start_together(function) : request.start();
}

}  // namespace

// Where a rank cannot take part in a collective one the others hear of it when they wait.
Error start_access(File& file, const How& how, const Given& given, MPI_Request* request) {
  PlacedAccess job;
  int64_t etypes = 0;
  if (how.collective)
    if (Error e = no_split(file)) return e;
  Error mine = prepare(file, how, given, job, etypes);
  if (!mine) mine = place(file, how, given, etypes, job);
  if (mine) {
    if (!how.collective || file.size() == 1) return mine;
    if (!job.view) job.view = file.current_view();
    if (goes_together(file, job))
      (new FileRequest(std::move(job)))->start_together(how.function, Error(mine.mpi_class(), mine.message()));
    return mine;
  }
  const bool together = how.collective && goes_together(file, job);
  auto* const made = new FileRequest(job);  // whose one reference is the handle's
  if (Error e = take_buffer(*made, job)) {
    if (together)
      made->start_together(how.function, Error(e.mpi_class(), e.message()));
    else
      made->release();
    return e;
  }
  made->note_handle();
  *request = inventory::hand_out<Request>(*made);
  start(*made, together, how.function);
  return {};
}

Error begin_split(File& file, const How& how, const Given& given) {
  PlacedAccess job;
  if (Error e = place_together(file, how, given, job)) return e;
  auto made = Ref<FileRequest>::adopt(new FileRequest(job));
  FileRequest& request = *made;
  if (Error e = take_buffer(request, job)) {
    // The others have begun, and hear of it when they end it.
    if (goes_together(file, job))
      (new FileRequest(job))->start_together(how.function, Error(e.mpi_class(), e.message()));
    return e;
  }
  file.split = {how.function, given.buffer, Ref<Request>(made.get()), {}};
  made = {};
  start(request, goes_together(file, job), how.function);
  return {};
}

Error end_split(File& file, Function began, const void* buffer, MPI_Status* status) {
  if (!file.split.request)
    return failure(MPI_ERR_OTHER, "{}: no split collective has begun: call {} first (argument fh)", file.name,
                   kFunctionNames[static_cast<size_t>(began)]);
  if (file.split.began != began)
    return failure(MPI_ERR_OTHER, "{}: the split collective was begun by {}, which another function ends (argument fh)",
                   file.name, kFunctionNames[static_cast<size_t>(file.split.began)]);
  if (file.split.buffer != buffer)
    return failure(MPI_ERR_BUFFER, "{}: the split collective was begun with the buffer {}, not {} (argument buf)",
                   file.name, file.split.buffer, buffer);
  {
    const engine::Engine::Guard own(engine_of_process());
    const Request& under_way = *file.split.request;
    engine_of_process().wait_until([&] { return under_way.is_complete(); },
                                   [&](life::Condition& needs) TUTTI_ENGINE_OWNED { under_way.add_needs(needs); });
  }
  File::Split over = std::exchange(file.split, {});
  over.watchers.tell(true);
  const Ref<Request> request = std::move(over.request);
  MPI_Status done{};
  request->fill(done);
  tell(status, status_bytes(done));
  Error error = request->error();
  return error || !strict ? std::move(error) : strict->judges(request.get());
}

}  // namespace tutti::mpi::file
