// SPDX-License-Identifier: BSD-3-Clause
// What a tool of PMIx, such as a debugger, can ask mpirun's server where ranks wait for it (--stop-on-start): which
// processes there are (PMIX_QUERY_NAMESPACES, PMIX_QUERY_PROC_TABLE), and to let them go on (PMIX_DEBUGGER_RELEASE).
// The library has checked that the tool is of the same user, or root's (pmix_door.hpp).
#pragma once

#include <pmix_server.h>

#include <functional>
#include <string>

#include "base/mutex.hpp"
#include "launcher/data/rank_groups.hpp"
#include "launcher/data/rank_view.hpp"
#include "launcher/loop/loop.hpp"
#include "launcher/loop/on_loop.hpp"

namespace tutti::launcher {

struct ToolServices {
  Mutex mutex;
  // Null: the job is over. PMIx's thread uses it, and outlives it.
  Loop* loop TUTTI_GUARDED_BY(mutex) = nullptr;
  std::string nspace TUTTI_LOOPS;  // of the job; empty until it is registered
  std::function<void(std::function<void(const JobView&)>)> look TUTTI_LOOPS;
  std::function<void()> release TUTTI_LOOPS;
};

// Before PMIx_server_init. The services are called on the loop's thread; the object lives as long as the process.
void put_tool_functions(pmix_server_module_t& module, ToolServices& services);
// Whether this is a tool's word that ranks are to go on; then it has been passed on.
bool is_release(pmix_status_t code);

}  // namespace tutti::launcher
