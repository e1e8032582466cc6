// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/object/error.hpp"

#include <mpi-ext.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>

#include "base/flush.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "base/process_sets.hpp"
#include "boot/joining.hpp"
#include "contract/ledger.hpp"
#include "mpi/object/api_error.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/entry_guard.hpp"
#include "mpi/object/errors_of_files.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/object/other_jobs.hpp"
#include "mpi/object/process.hpp"
#include "mpi/object/watcher.hpp"

namespace tutti::mpi {
namespace {

struct ClassText {
  int code;
  const char* text;
};
constexpr ClassText kClasses[] = {
    {MPI_SUCCESS, "MPI_SUCCESS: no error"},
    {MPI_ERR_BUFFER, "MPI_ERR_BUFFER: invalid buffer"},
    {MPI_ERR_COUNT, "MPI_ERR_COUNT: invalid count"},
    {MPI_ERR_TYPE, "MPI_ERR_TYPE: invalid datatype"},
    {MPI_ERR_TAG, "MPI_ERR_TAG: invalid tag"},
    {MPI_ERR_COMM, "MPI_ERR_COMM: invalid communicator"},
    {MPI_ERR_RANK, "MPI_ERR_RANK: invalid rank"},
    {MPI_ERR_REQUEST, "MPI_ERR_REQUEST: invalid request"},
    {MPI_ERR_ROOT, "MPI_ERR_ROOT: invalid root"},
    {MPI_ERR_GROUP, "MPI_ERR_GROUP: invalid group"},
    {MPI_ERR_OP, "MPI_ERR_OP: invalid operation, or not defined on this datatype"},
    {MPI_ERR_TOPOLOGY, "MPI_ERR_TOPOLOGY: the communicator has no such topology"},
    {MPI_ERR_DIMS, "MPI_ERR_DIMS: invalid dimensions"},
    {MPI_ERR_ARG, "MPI_ERR_ARG: invalid argument"},
    {MPI_ERR_UNKNOWN, "MPI_ERR_UNKNOWN: unknown error"},
    {MPI_ERR_TRUNCATE, "MPI_ERR_TRUNCATE: the message is longer than the receive buffer"},
    {MPI_ERR_OTHER, "MPI_ERR_OTHER: an error of no other class"},
    {MPI_ERR_INTERN, "MPI_ERR_INTERN: internal error of the library"},
    {MPI_ERR_PENDING, "MPI_ERR_PENDING: the operation is neither complete nor failed"},
    {MPI_ERR_IN_STATUS, "MPI_ERR_IN_STATUS: the error is in the statuses"},
    {MPI_ERR_ACCESS, "MPI_ERR_ACCESS: permission denied"},
    {MPI_ERR_AMODE, "MPI_ERR_AMODE: invalid access mode of a file"},
    {MPI_ERR_ASSERT, "MPI_ERR_ASSERT: invalid assertion"},
    {MPI_ERR_BAD_FILE, "MPI_ERR_BAD_FILE: invalid file name"},
    {MPI_ERR_BASE, "MPI_ERR_BASE: invalid base address"},
    {MPI_ERR_CONVERSION, "MPI_ERR_CONVERSION: a user's data conversion failed"},
    {MPI_ERR_DISP, "MPI_ERR_DISP: invalid displacement"},
    {MPI_ERR_DUP_DATAREP, "MPI_ERR_DUP_DATAREP: this data representation exists already"},
    {MPI_ERR_FILE_EXISTS, "MPI_ERR_FILE_EXISTS: the file exists already"},
    {MPI_ERR_FILE_IN_USE, "MPI_ERR_FILE_IN_USE: the file is open"},
    {MPI_ERR_FILE, "MPI_ERR_FILE: invalid file handle"},
    {MPI_ERR_INFO_KEY, "MPI_ERR_INFO_KEY: the key is too long, or empty"},
    {MPI_ERR_INFO_NOKEY, "MPI_ERR_INFO_NOKEY: the key is not there"},
    {MPI_ERR_INFO_VALUE, "MPI_ERR_INFO_VALUE: the value is too long, or no value of this key"},
    {MPI_ERR_INFO, "MPI_ERR_INFO: invalid info object"},
    {MPI_ERR_IO, "MPI_ERR_IO: input or output failed"},
    {MPI_ERR_KEYVAL, "MPI_ERR_KEYVAL: invalid key value"},
    {MPI_ERR_LOCKTYPE, "MPI_ERR_LOCKTYPE: invalid lock type"},
    {MPI_ERR_NAME, "MPI_ERR_NAME: nobody published this name"},
    {MPI_ERR_NO_MEM, "MPI_ERR_NO_MEM: no memory left"},
    {MPI_ERR_NOT_SAME, "MPI_ERR_NOT_SAME: an argument differs between the processes"},
    {MPI_ERR_NO_SPACE, "MPI_ERR_NO_SPACE: no space left"},
    {MPI_ERR_NO_SUCH_FILE, "MPI_ERR_NO_SUCH_FILE: no such file"},
    {MPI_ERR_PORT, "MPI_ERR_PORT: invalid port name"},
    {MPI_ERR_QUOTA, "MPI_ERR_QUOTA: quota exceeded"},
    {MPI_ERR_READ_ONLY, "MPI_ERR_READ_ONLY: the file or file system is read-only"},
    {MPI_ERR_RMA_ATTACH, "MPI_ERR_RMA_ATTACH: the memory cannot be attached"},
    {MPI_ERR_RMA_CONFLICT, "MPI_ERR_RMA_CONFLICT: conflicting accesses to a window"},
    {MPI_ERR_RMA_RANGE, "MPI_ERR_RMA_RANGE: the target memory is not in the window"},
    {MPI_ERR_RMA_SHARED, "MPI_ERR_RMA_SHARED: the memory cannot be shared"},
    {MPI_ERR_RMA_SYNC, "MPI_ERR_RMA_SYNC: wrong synchronisation of one-sided calls"},
    {MPI_ERR_SERVICE, "MPI_ERR_SERVICE: the name cannot be withdrawn"},
    {MPI_ERR_SIZE, "MPI_ERR_SIZE: invalid size"},
    {MPI_ERR_SPAWN, "MPI_ERR_SPAWN: processes cannot be started"},
    {MPI_ERR_UNSUPPORTED_DATAREP, "MPI_ERR_UNSUPPORTED_DATAREP: unsupported data representation"},
    {MPI_ERR_UNSUPPORTED_OPERATION, "MPI_ERR_UNSUPPORTED_OPERATION: unsupported operation"},
    {MPI_ERR_WIN, "MPI_ERR_WIN: invalid window"},
    {MPI_ERR_RMA_FLAVOR, "MPI_ERR_RMA_FLAVOR: wrong flavor of window"},
    {MPI_ERR_PROC_ABORTED, "MPI_ERR_PROC_ABORTED: a peer process has aborted"},
    {MPI_ERR_VALUE_TOO_LARGE, "MPI_ERR_VALUE_TOO_LARGE: the value does not fit"},
    {MPI_ERR_SESSION, "MPI_ERR_SESSION: invalid session"},
    {MPI_ERR_ERRHANDLER, "MPI_ERR_ERRHANDLER: invalid error handler"},
    {MPI_ERR_ABI, "MPI_ERR_ABI: the ABI does not fit"},
    {MPIX_ERR_PROC_FAILED, "MPIX_ERR_PROC_FAILED: a process has failed"},
    {MPIX_ERR_PROC_FAILED_PENDING, "MPIX_ERR_PROC_FAILED_PENDING: a process has failed that might have sent"},
    {MPIX_ERR_REVOKED, "MPIX_ERR_REVOKED: the communicator is revoked"},
    {MPI_T_ERR_CANNOT_INIT, "MPI_T_ERR_CANNOT_INIT: the tool information interface cannot be initialised"},
    {MPI_T_ERR_NOT_ACCESSIBLE, "MPI_T_ERR_NOT_ACCESSIBLE: this cannot be reached now"},
    {MPI_T_ERR_NOT_INITIALIZED, "MPI_T_ERR_NOT_INITIALIZED: the tool information interface is not initialised"},
    {MPI_T_ERR_NOT_SUPPORTED, "MPI_T_ERR_NOT_SUPPORTED: this is not supported"},
    {MPI_T_ERR_MEMORY, "MPI_T_ERR_MEMORY: no memory left"},
    {MPI_T_ERR_INVALID, "MPI_T_ERR_INVALID: invalid use, or a bad value"},
    {MPI_T_ERR_INVALID_INDEX, "MPI_T_ERR_INVALID_INDEX: invalid index"},
    {MPI_T_ERR_INVALID_ITEM, "MPI_T_ERR_INVALID_ITEM: invalid index of an item"},
    {MPI_T_ERR_INVALID_SESSION, "MPI_T_ERR_INVALID_SESSION: invalid session of performance variables"},
    {MPI_T_ERR_INVALID_HANDLE, "MPI_T_ERR_INVALID_HANDLE: invalid handle"},
    {MPI_T_ERR_INVALID_NAME, "MPI_T_ERR_INVALID_NAME: nothing has this name"},
    {MPI_T_ERR_OUT_OF_HANDLES, "MPI_T_ERR_OUT_OF_HANDLES: no handles left"},
    {MPI_T_ERR_OUT_OF_SESSIONS, "MPI_T_ERR_OUT_OF_SESSIONS: no sessions left"},
    {MPI_T_ERR_CVAR_SET_NOT_NOW, "MPI_T_ERR_CVAR_SET_NOT_NOW: the control variable cannot be set now"},
    {MPI_T_ERR_CVAR_SET_NEVER, "MPI_T_ERR_CVAR_SET_NEVER: the control variable cannot be set any more"},
    {MPI_T_ERR_PVAR_NO_WRITE, "MPI_T_ERR_PVAR_NO_WRITE: the performance variable cannot be written or reset"},
    {MPI_T_ERR_PVAR_NO_STARTSTOP, "MPI_T_ERR_PVAR_NO_STARTSTOP: the performance variable cannot be started or stopped"},
    {MPI_T_ERR_PVAR_NO_ATOMIC, "MPI_T_ERR_PVAR_NO_ATOMIC: the performance variable cannot be read and reset at once"},
};

// Classes and codes that the program adds: numbers after MPI_ERR_LASTCODE.
class AddedCodes {
 public:
  int add(int error_class) {  // MPI_SUCCESS: a class of its own
    const Lock lock(mutex_);
    const int code = ++last_;
    added_[code] = {error_class == MPI_SUCCESS ? code : error_class};
    return code;
  }
  Error describe(int code, std::string text) {
    return change(code, "", [&](auto at) { at->second.text = std::move(text); });
  }
  Error remove(int code, bool is_class) {
    const Lock lock(mutex_);
    const auto at = added_.find(code);
    if (at == added_.end() || (at->second.error_class == code) != is_class)
      return failure(MPI_ERR_ARG, "{} is no error {} that this program added", code, is_class ? "class" : "code");
    if (at->second.text) return failure(MPI_ERR_OTHER, "{} still has a string: remove that first", code);
    const bool in_use = is_class && std::any_of(added_.begin(), added_.end(), [&](auto& other) {
                          return other.first != code && other.second.error_class == code;
                        });
    if (in_use) return failure(MPI_ERR_OTHER, "class {} still has error codes: remove them first", code);
    added_.erase(at);
    while (last_ > MPI_ERR_LASTCODE && !added_.count(last_)) --last_;
    return {};
  }
  Error undescribe(int code) {
    return change(code, " with a string", [](auto at) { at->second.text.reset(); });
  }
  bool is_class(int code) {
    const Lock lock(mutex_);
    const auto at = added_.find(code);
    return at != added_.end() && at->second.error_class == code;
  }
  struct Added {
    int error_class;
    std::optional<std::string> text = std::nullopt;  // an empty string is one, too, once it has been added
  };
  std::optional<Added> find(int code) {
    const Lock lock(mutex_);
    const auto at = added_.find(code);
    return at == added_.end() ? std::nullopt : std::optional(at->second);
  }
  const int* last() const { return &last_; }

 private:
  template <class Act>
  Error change(int code, const char* with, Act act) {
    const Lock lock(mutex_);
    const auto at = added_.find(code);
    if (at == added_.end() || (*with && !at->second.text))
      return failure(MPI_ERR_ARG, "{} is no error code{} that this program added", code, with);
    act(at);
    return {};
  }

  Mutex mutex_;
  std::map<int, Added> added_ TUTTI_GUARDED_BY(mutex_);
  int last_ TUTTI_GUARDED_BY(mutex_) = MPI_ERR_LASTCODE;
};
struct KnownErrors {
  AddedCodes added;
  ErrorsOfFiles of_files;
};
KnownErrors& known_errors() {
  static KnownErrors known;
  return known;
}
AddedCodes& added() {
  return known_errors().added;
}

bool is_standard(int code) {
  return std::any_of(std::begin(kClasses), std::end(kClasses), [code](const ClassText& c) { return c.code == code; });
}

Errhandler& make_predefined(Errhandler::Does does, MPI_Errhandler handle, const char* name) {
  auto* made = new Errhandler(does);  // lives for ever
  made->handle = handle;
  made->name = name;
  return *made;
}
// They live as long as the process, for errors are raised before MPI_Init and behind MPI_Finalize as well.
struct Handlers {
  Errhandler& fatal = make_predefined(Errhandler::Does::end_job, MPI_ERRORS_ARE_FATAL, "MPI_ERRORS_ARE_FATAL");
  Errhandler& aborting = make_predefined(Errhandler::Does::abort_communicator, MPI_ERRORS_ABORT, "MPI_ERRORS_ABORT");
  Errhandler& returning = make_predefined(Errhandler::Does::return_code, MPI_ERRORS_RETURN, "MPI_ERRORS_RETURN");
  Errhandler& initial = by_launcher();

 private:
  Errhandler& by_launcher() {
    const char* told = std::getenv(kInitialErrhandlerVariable);
    const std::string_view name = told ? told : "";
    return name == "mpi_errors_return" ? returning : name == "mpi_errors_abort" ? aborting : fatal;
  }
};
const Handlers& handlers() {
  static const Handlers predefined;
  return predefined;
}

// With a story below it, the sentence says itself which rank speaks: so do its lines.
std::string last_words(int code, std::string_view text, const HasErrhandler* on, const Errhandler& handler,
                       const Incident& incident) {
  const bool is_job = handler.does == Errhandler::Does::end_job || !process().end_members;
  std::string words = fmt::format("{}. {}: the error handler is {}", text,
                                  is_job ? "The job ends" : "The processes of the communicator end", handler.name);
  const bool is_of_failure =
      code == MPIX_ERR_PROC_FAILED || code == MPIX_ERR_PROC_FAILED_PENDING || code == MPIX_ERR_REVOKED;
  if (is_of_failure) words += ", by which the program handles no failure of a process (tutti-survival(7))";
  if (incident.place.caller == 0) return words;
  words = fmt::format("rank {} on {}: {}", my_process(), own_job().view().host, words);
  for (const std::string& line : story_of(incident.place, on, incident.mentions)) words += "\n  " + line;
  return words;
}

// Before MPI_Init or after MPI_Finalize nobody has chosen a handler. The launcher is joined (again)
// only to be told, so that it says this sentence once, and not that a rank exited as well.
[[noreturn]] void end_outside_of_mpi(int exit_code, std::string words, const Incident& incident) {
  Result<std::unique_ptr<boot::Membership>> job = boot::Membership::join();
  if (incident.place.caller != 0) {
    const boot::JobInfo view = job ? (*job)->view() : boot::JobInfo();
    if (job) words = fmt::format("rank {} on {}: {}", view.rank, view.host, words);
    words += fmt::format("\n  rank {}: {}", view.rank, place_texts({incident.place})[0]);
    for (const Mention& mention : incident.mentions)
      if (mention.place.caller) words += fmt::format("\n  {} {}", mention.text, place_texts({mention.place})[0]);
  }
  if (job) (*job)->abort(exit_code, words);
  flush_streams();
  say(Level::error, "{}", words);
  std::_Exit(exit_code);
}

[[noreturn]] void end_job(int code, std::string_view text, const HasErrhandler* on, const Errhandler& handler,
                          const Incident& incident) {
  const int exit_code = std::clamp(code, 1, 255);
  if (&handler == &handlers().fatal) end_all_connected(exit_code, false);
  const bool running = current.phase.load() == Phase::running;
  if (&handler == &handlers().aborting && running && on && process().end_members)
    process().end_members(*on, exit_code, last_words(code, text, on, handler, incident));
  if (running) own_job().abort(exit_code, last_words(code, text, on, handler, incident));
  if (boot::Membership* job = current.failed_job) job->abort(exit_code, std::string(text));
  end_outside_of_mpi(exit_code, std::string(text), incident);
}

}  // namespace

Errhandler* HandleOf<Errhandler>::predefined(uintptr_t value) {
  if (value == reinterpret_cast<uintptr_t>(MPI_ERRORS_ARE_FATAL)) return &handlers().fatal;
  if (value == reinterpret_cast<uintptr_t>(MPI_ERRORS_ABORT)) return &handlers().aborting;
  if (value == reinterpret_cast<uintptr_t>(MPI_ERRORS_RETURN)) return &handlers().returning;
  return nullptr;
}

const int* last_used_code() {
  return added().last();
}

ErrorsOfFiles& errors_of_files() {
  return known_errors().of_files;
}

std::string class_string(int code) {
  for (const ClassText& c : kClasses)
    if (c.code == code) return c.text;
  return "";
}

namespace {

struct KindOfObject {
  const char* plural;
  const char* prefix;  // of its functions
};
KindOfObject text_of(Errhandler::On on) {
  switch (on) {
    case Errhandler::On::communicator:
      return {"communicators", "Comm"};
    case Errhandler::On::window:
      return {"windows", "Win"};
    case Errhandler::On::file:
      return {"files", "File"};
    case Errhandler::On::session:
      return {"sessions", "Session"};
  }
  return {"nothing", ""};  // never
}

}  // namespace

Errhandler& predefined_errhandler(MPI_Errhandler handle) {
  return *HandleOf<Errhandler>::predefined(reinterpret_cast<uintptr_t>(handle));
}

Errhandler& initial_errhandler() {
  return handlers().initial;
}

Error Errhandler::suits(On object) const {
  if (does != Does::call_user || on == object) return {};
  return failure(MPI_ERR_ERRHANDLER,
                 "the error handler was made for {} by MPI_{}_create_errhandler, not for {} (argument "
                 "errhandler)",
                 text_of(on).plural, text_of(on).prefix, text_of(object).plural);
}

int call_errhandler(HasErrhandler* on, int code, std::string_view text, const Incident& incident) {
  HasErrhandler* const raised_on = on;
  if (!on) on = current.on_no_object.load(std::memory_order_acquire);
  const Ref<Errhandler> handler = on ? on->errhandler : Ref<Errhandler>(&initial_errhandler());
  switch (handler->does) {
    case Errhandler::Does::return_code:
      if (checking.watcher && on && on->kind == Errhandler::On::file) [[unlikely]]
        checking.watcher->returns_error_of_file(code, text, incident.place);
      return code;
    case Errhandler::Does::call_user: {
      const InCallback in_callback;
      return on->call_user(*handler, code);
    }
    case Errhandler::Does::end_job:
    case Errhandler::Does::abort_communicator:
      end_job(code, text, raised_on, *handler, incident);
  }
  return code;
}

namespace {

// What stands in for an object that is not there yet: errors go to the handler that it would have.
class NotYet final : public HasErrhandler {
 public:
  NotYet(Errhandler& errhandler, Errhandler::On kind) : HasErrhandler(Tag::freed, kind, Ref<Errhandler>(&errhandler)) {}
  int call_user(const Errhandler& with, int code) override {
    if (kind == Errhandler::On::session)
      return call_with_handle<MPI_Session_errhandler_function>(with, MPI_SESSION_NULL, code);
    return call_with_handle<MPI_Comm_errhandler_function>(with, MPI_COMM_NULL, code);
  }
  std::string description() const override { return std::string("a new ") + noun(); }
  const char* noun() const override { return kind == Errhandler::On::session ? "session" : "communicator"; }
};

}  // namespace

void raise_on_what_is_made(Errhandler& errhandler, Errhandler::On kind) {
  if (!errhandler.suits(kind)) error_object() = Ref<HasErrhandler>::adopt(new NotYet(errhandler, kind));
}

Error create_errhandler(Errhandler::Function function, Errhandler::On on, MPI_Errhandler* errhandler) {
  if (!function) return failure(MPI_ERR_ARG, "the handler's function is NULL");
  auto* made = new Errhandler(Errhandler::Does::call_user, function, on);
  *errhandler = made->handle = inventory::hand_out(*made);
  return {};
}

Error set_errhandler(HasErrhandler& on, Errhandler& errhandler) {
  if (Error e = errhandler.suits(on.kind)) return e;
  on.errhandler = Ref<Errhandler>(&errhandler);
  if (on.kind == Errhandler::On::file) {
    errors_of_files().looked_at.store(true, std::memory_order_relaxed);
    if (checking.watcher) checking.watcher->sets_handler_of_file();
  }
  if (contract::Ledger* ledger = on.ledger()) ledger->set_fatal(errhandler.ends_job());
  return {};
}

Error get_errhandler(HasErrhandler& on, MPI_Errhandler* errhandler) {
  on.errhandler->add_handle();  // the caller's to free
  *errhandler = on.errhandler->handle;
  return {};
}

Error call_errhandler_of(HasErrhandler& on, int errorcode, const char* function) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (Error e = error_string(errorcode, text, &length)) return e;
  call_errhandler(&on, errorcode, fmt::format("{}: {}", function, text));
  return {};
}

namespace {

void looks_at_error() {
  errors_of_files().looked_at.store(true, std::memory_order_relaxed);
  if (checking.watcher) checking.watcher->asks_of_error();
}

}  // namespace

Error error_class(int errorcode, int* errorclass) {
  looks_at_error();
  if (is_standard(errorcode)) {
    *errorclass = errorcode;
  } else if (const auto mine = added().find(errorcode)) {
    *errorclass = mine->error_class;
  } else {
    return failure(MPI_ERR_ARG, "{} is no error code", errorcode);
  }
  return {};
}

Error error_string(int errorcode, char* string, int* resultlen) {
  looks_at_error();
  std::string text = class_string(errorcode);
  if (const auto mine = added().find(errorcode)) {
    text = mine->text.value_or("");
  } else if (text.empty()) {
    return failure(MPI_ERR_ARG, "{} is no error code", errorcode);
  } else if (errorcode != MPI_SUCCESS && last_error().code == errorcode && !last_error().text.empty()) {
    text += "; last: " + last_error().text;
  }
  text.resize(std::min<size_t>(text.size(), MPI_MAX_ERROR_STRING - 1));
  std::memcpy(string, text.c_str(), text.size() + 1);
  *resultlen = static_cast<int>(text.size());
  return {};
}

Error add_error_class(int* errorclass) {
  *errorclass = added().add(MPI_SUCCESS);
  return {};
}

Error add_error_code(int errorclass, int* errorcode) {
  if (!is_standard(errorclass) && !added().is_class(errorclass))
    return failure(MPI_ERR_ARG, "{} is no error class", errorclass);
  *errorcode = added().add(errorclass);
  return {};
}

Error add_error_string(int errorcode, const char* string) {
  const size_t length = std::strlen(string);
  if (length >= MPI_MAX_ERROR_STRING)
    return failure(MPI_ERR_ARG, "the string has {} characters; {} is the most", length, MPI_MAX_ERROR_STRING - 1);
  return added().describe(errorcode, string);
}

// clang-format off
Error remove_error_class(int errorclass) { return added().remove(errorclass, true); }
Error remove_error_code(int errorcode) { return added().remove(errorcode, false); }
Error remove_error_string(int errorcode) { return added().undescribe(errorcode); }
// clang-format on

}  // namespace tutti::mpi
