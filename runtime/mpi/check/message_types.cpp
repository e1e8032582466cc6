// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/check/message_types.hpp"

#include "base/flight.hpp"
#include "base/log.hpp"
#include "contract/checker.hpp"
#include "contract/report.hpp"
#include "contract/trace.hpp"
#include "engine/engine.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/object/entry_guard.hpp"
#include "mpi/object/process.hpp"
#include "mpi/object/tolerated.hpp"
#include "mpi/request/request.hpp"

namespace tutti::mpi {
namespace {

const MPI_Datatype kKnownBest[] = {MPI_CHAR,      MPI_SHORT,          MPI_INT,
                                   MPI_LONG,      MPI_UNSIGNED_CHAR,  MPI_UNSIGNED_SHORT,
                                   MPI_UNSIGNED,  MPI_UNSIGNED_LONG,  MPI_FLOAT,
                                   MPI_DOUBLE,    MPI_LONG_DOUBLE,    MPI_C_FLOAT_COMPLEX,
                                   MPI_C_BOOL,    MPI_LOGICAL,        MPI_C_DOUBLE_COMPLEX,
                                   MPI_INTEGER16, MPI_REAL2,          MPI_C_LONG_DOUBLE_COMPLEX,
                                   MPI_REAL16,    MPI_COMPLEX4,       MPI_COMPLEX32,
                                   MPI_LOGICAL2,  MPI_LOGICAL8,       MPI_LOGICAL16,
                                   MPI_FLOAT_INT, MPI_DOUBLE_INT,     MPI_LONG_INT,
                                   MPI_SHORT_INT, MPI_LONG_DOUBLE_INT};

// What so many bytes of this pattern are, if it is that of a predefined type.
std::string sent_text(int64_t bytes, Pattern pattern) {
  for (const MPI_Datatype handle : kKnownBest) {
    const Datatype& type = *resolve<Datatype>(handle);
    if (type.pattern == pattern && bytes % type.layout->size() == 0)
      return fmt::format("{} of {}", bytes / type.layout->size(), type.name);
  }
  return fmt::format("{} bytes of a derived datatype", bytes);
}

// The first basic types of a type map, with how many follow each other.
void add_parts(const Datatype& type, int64_t count, std::vector<std::pair<std::string, int64_t>>& to) {
  constexpr size_t kMost = 5;
  if (type.runs.empty()) {
    if (!to.empty() && to.back().first == type.name)
      to.back().second += count;
    else
      to.emplace_back(type.name, count);
    return;
  }
  for (int64_t i = 0; i < count && to.size() <= kMost; ++i)
    for (const TypeRun& run : type.runs) {
      if (to.size() > kMost) return;
      add_parts(*run.type, run.count, to);
    }
}

std::string map_text(const Datatype& type) {
  if (type.signature.is_uniform()) {
    const Datatype* basic = &type;
    while (!basic->runs.empty()) basic = basic->runs[0].type;
    return fmt::format("{} {}", type.basic_elements, basic->name);
  }
  std::vector<std::pair<std::string, int64_t>> parts;
  add_parts(type, 1, parts);
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(parts.size(), 4); ++i)
    text += fmt::format("{}{} {}", i ? ", " : "", parts[i].second, parts[i].first);
  return parts.size() > 4 ? text + ", …" : text;
}

// What is said below the error: the call that has received the message, if it is another one than that
// which has found it complete, and the call that has sent it.
void mention_both(const engine::Outcome& outcome, const Wanted& wanted, bool in_receive) TUTTI_ENGINE_OWNED {
  if (!in_receive && !checking.keeps_what_is_gone) {  // else it is known of the request
    const flight::CallRecord receive = contract::receiving_call(wanted.comm.context(), wanted.source, wanted.tag,
                                                                reinterpret_cast<uintptr_t>(wanted.type.handle));
    if (receive.state != flight::State::none)
      mentions().push_back({.text = "it was received by",
                            .call = flight::description(receive),
                            .address = code_address(receive.caller)});
  }
  if (!wanted.comm.checker()) return;
  const int sender = wanted.comm.process_of(outcome.source);
  const contract::Side side = wanted.comm.checker()->trace().find({.context = wanted.comm.context(),
                                                                   .bytes = outcome.sent_bytes,
                                                                   .process = sender,
                                                                   .dest = wanted.comm.rank(),
                                                                   .tag = outcome.tag,
                                                                   .pattern = outcome.pattern});
  if (side.status == contract::Status::started)
    mentions().push_back({.text = fmt::format("it was sent by rank {} on {}:", sender, side.host),
                          .call = flight::description(side.call),
                          .address = side.caller});
}

// Of several requests that a call completes it tells of the first one that has failed. Nobody is asked of the others,
// whose senders may take their time to answer.
bool another_has_failed() {
  return static_cast<bool>(error_object());
}

// Of a message that is too long. Its sender's call is told as well where the job ends: whether the count is wrong,
// or the type, or which message it is, is seen by both calls alone.
Error failure_of_truncated(const engine::Outcome& outcome, const Wanted& wanted, AskedFrom from) TUTTI_NOT_PROVEN {
  if (!wanted.comm.errhandler->ends_job() || from == AskedFrom::in_pass || another_has_failed())
    return failure_of(outcome);
  engine::Engine& engine = wanted.comm.engine();
  if (from == AskedFrom::unowned) engine.enter();
  mention_both(outcome, wanted, from == AskedFrom::in_receive);
  if (from == AskedFrom::unowned) engine.leave();
  return failure_of(outcome);
}

}  // namespace

Error report_alone(Error error, const Comm* comm) {
  const CallSite mine = here();
  const std::vector<Mention> said = std::exchange(mentions(), {});
  if (!process().told_callers.insert(mine.caller).second) return {};
  std::string text = error.message();
  for (const std::string& line : story_of(mine, comm, said)) text += "\n  " + line;
  log_line(Level::error, text);
  return {};
}

std::string amount_text(int64_t count, const Datatype& type) {
  if (type.predefined || type.runs.empty()) return fmt::format("{} of {}", count, description(type));
  return fmt::format("{} of {} ({})", count, type.name.empty() ? "a derived datatype" : type.name, map_text(type));
}

bool is_one_byte(Pattern pattern) {
  static const Pattern chars[] = {resolve<Datatype>(MPI_CHAR)->pattern, resolve<Datatype>(MPI_SIGNED_CHAR)->pattern,
                                  resolve<Datatype>(MPI_UNSIGNED_CHAR)->pattern};
  return pattern != 0 && std::ranges::find(chars, pattern) != std::end(chars);
}

bool differ_in_types(const engine::Outcome& outcome, const Datatype& type) {
  if (!checking.compares_types || outcome.pattern == 0 || type.pattern == 0 || outcome.bytes == 0 ||
      outcome.cancelled || outcome.mpi_class != MPI_SUCCESS)
    return false;
  const int64_t elements = elements_in(type, outcome.bytes);
  if (elements == MPI_UNDEFINED) return true;
  const Pattern beginning = pattern_of(type, static_cast<uint64_t>(elements));
  return beginning != 0 && beginning != outcome.pattern;
}

Error failure_of_receive(const engine::Outcome& outcome, const Wanted& wanted, AskedFrom from) {
  if (outcome.mpi_class == MPI_ERR_TRUNCATE) return failure_of_truncated(outcome, wanted, from);
  if (outcome.mpi_class != MPI_ERR_TYPE) return failure_of(outcome);
  const Comm& comm = wanted.comm;
  const bool lenient = !strict && (is_one_byte(outcome.pattern) || is_one_byte(wanted.type.pattern)) &&
                       elements_in(wanted.type, outcome.bytes) != MPI_UNDEFINED;
  if (lenient && is_told(Tolerated::one_byte_types)) return {};
  Error error = failure(MPI_ERR_TYPE,
                        "rank {} sends {} where rank {} receives {}, with tag {} on {}: the type signatures (counts "
                        "times basic types) must agree",
                        outcome.source, sent_text(outcome.sent_bytes, outcome.pattern), comm.rank(),
                        amount_text(wanted.count, wanted.type), outcome.tag,
                        comm.hidden.ledger ? contract::description(*comm.hidden.ledger) : comm.name);
  const bool goes_on = lenient || checking.report_only;
  if (!goes_on && (!comm.errhandler->ends_job() || another_has_failed())) return error;
  engine::Engine& engine = comm.engine();
  std::vector<Mention> of_another;  // that has failed: what is told at once, and ends nothing, leaves them
  if (goes_on) of_another.swap(mentions());
  if (from == AskedFrom::unowned) engine.enter();
  if (from != AskedFrom::in_pass) mention_both(outcome, wanted, from == AskedFrom::in_receive);
  if (lenient)
    error = tolerated(Tolerated::one_byte_types, std::move(error), &comm);
  else if (checking.report_only)
    error = report_alone(std::move(error), &comm);
  if (from == AskedFrom::unowned) engine.leave();
  if (goes_on) of_another.swap(mentions());
  return error;
}

int may_have_sent(const flight::CallRecord& call, int64_t bytes, Pattern pattern) {
  constexpr int kNo = 0, kPerhaps = 1, kYes = 2;
  if (call.count < 0 || call.type >= kFirstAddress) return kPerhaps;
  const Datatype* type = HandleOf<Datatype>::predefined(call.type);
  if (!type) return kPerhaps;
  return call.count * type->layout->size() == bytes && type->pattern == pattern ? kYes : kNo;
}

}  // namespace tutti::mpi
