// SPDX-License-Identifier: BSD-3-Clause
#include "boot/pmix_ends.hpp"

#include <fmt/format.h>
#include <pmix.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

#include "base/log.hpp"
#include "base/mutex.hpp"
#include "members/processes.hpp"

namespace tutti::boot {
namespace {

using members::State;

// The words that PMIx has for the end of a process, which servers use as they like.
struct End {
  pmix_status_t code;
  State state;
};
constexpr End kEnds[] = {
    {PMIX_ERR_PROC_ABORTED, State::failed},       {PMIX_ERR_PROC_ABORTED_BY_SIG, State::failed},
    {PMIX_ERR_PROC_KILLED_BY_CMD, State::failed}, {PMIX_ERR_PROC_SENSOR_BOUND_EXCEEDED, State::failed},
    {PMIX_ERR_PROC_TERM_WO_SYNC, State::failed},  {PMIX_ERR_EXIT_NONZERO_TERM, State::failed},
    {PMIX_EVENT_PROC_TERMINATED, State::left},
};

// To whom. There is one client in a process, and its thread may call at any time.
struct Listener {
  Mutex mutex;
  members::Processes* members TUTTI_GUARDED_BY(mutex) = nullptr;
  std::string job TUTTI_GUARDED_BY(mutex);
};
Listener& listener() {
  static auto& only = *new Listener;
  return only;
}

void report_end(pmix_status_t code, const pmix_proc_t& process, const std::string& why) {
  Listener& to = listener();
  const Lock lock(to.mutex);
  if (!to.members || to.job != process.nspace) return;
  for (const End& end : kEnds)
    if (end.code == code) to.members->report(static_cast<int>(process.rank), end.state, why);
}

// On PMIx's thread.
void ended(size_t, pmix_status_t code, const pmix_proc_t* source, pmix_info_t infos[], size_t count, pmix_info_t[],
           size_t, pmix_event_notification_cbfunc_fn_t done, void* token) {
  const pmix_proc_t* whose = source;
  std::string why;
  for (size_t i = 0; i < count; ++i) {
    const pmix_value_t& value = infos[i].value;
    if (PMIX_CHECK_KEY(&infos[i], PMIX_EVENT_AFFECTED_PROC) && value.type == PMIX_PROC && value.data.proc)
      whose = value.data.proc;
    if (PMIX_CHECK_KEY(&infos[i], PMIX_EVENT_TEXT_MESSAGE) && value.type == PMIX_STRING && value.data.string)
      why = value.data.string;
  }
  if (why.empty()) why = fmt::format("has ended: the PMIx server says {}", PMIx_Error_string(code));
  if (whose) report_end(code, *whose, why);
  if (done) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, token);
}

void registered(pmix_status_t status, size_t, void*) {
  if (status != PMIX_SUCCESS)
    say(Level::debug, "the PMIx server tells no ends of ranks: {}", PMIx_Error_string(status));
}

}  // namespace

void hear_of_ends(members::Processes& members, const std::string& job) {
  Listener& to = listener();
  {
    const Lock lock(to.mutex);
    to.members = &members;
    to.job = job;
  }
  // PMIx reads them later, on its thread.
  static auto codes = [] {
    std::array<pmix_status_t, std::size(kEnds)> all;
    std::ranges::transform(kEnds, all.begin(), &End::code);
    return all;
  }();
  PMIx_Register_event_handler(codes.data(), codes.size(), nullptr, 0, ended, registered, nullptr);
}

void hear_of_no_ends() {
  Listener& to = listener();
  const Lock lock(to.mutex);
  to.members = nullptr;
}

}  // namespace tutti::boot
