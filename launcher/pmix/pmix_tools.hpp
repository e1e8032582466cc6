// SPDX-License-Identifier: BSD-3-Clause
// What a tool of PMIx, such as a debugger, can ask mpirun's server where ranks wait for it (--stop-on-start): which
// processes there are (PMIX_QUERY_NAMESPACES, PMIX_QUERY_PROC_TABLE), and to let them go on (PMIX_DEBUGGER_RELEASE).
// The library has checked that the tool is of the same user, or root's (pmix_door.hpp).
#pragma once

#include <pmix_server.h>

#include <functional>
#include <mutex>
#include <string>

#include "launcher/data/rank_view.hpp"
#include "launcher/loop/loop.hpp"

namespace tutti::launcher {

struct ToolServices {
  std::mutex mutex;      // of `loop`, which PMIx's thread uses and outlives
  Loop* loop = nullptr;  // null: the job is over
  std::string nspace;    // of the job; empty until it is registered
  std::function<void(std::function<void(const JobView&)>)> look;
  std::function<void()> release;
};

// Before PMIx_server_init. The services are called on the loop's thread; the object lives as long as the process.
void put_tool_functions(pmix_server_module_t& module, ToolServices& services);
// Whether this is a tool's word that ranks are to go on; then it has been passed on.
bool is_release(pmix_status_t code);

}  // namespace tutti::launcher
