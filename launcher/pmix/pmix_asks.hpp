// SPDX-License-Identifier: BSD-3-Clause
// What a client of PMIx asks beyond its job, from the words of PMIx to those of launcher/data/kin.hpp, and back. Included
// by the PMIx server's files only.
#pragma once

#include <pmix_server.h>

#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "launcher/data/kin.hpp"

namespace tutti::launcher {

// "namespace:rank"
std::string name_of(const pmix_proc_t& proc);

// The arguments of an mpirun that starts what PMIx_Spawn asks for. `left_out`: keys that are not known and need not be.
Result<std::vector<std::string>> launcher_arguments(const pmix_info_t job[], size_t infos, const pmix_app_t apps[],
                                                    size_t count, std::vector<std::string>& left_out);

// Without names: there is nothing to do.
Ask publication(const pmix_info_t infos[], size_t count);
Ask lookup(char** names, const pmix_info_t infos[], size_t count);
Ask withdrawal(char** names);

void answer_spawn(const Reply& reply, pmix_spawn_cbfunc_t callback, void* token);
void answer_lookup(const Reply& reply, pmix_lookup_cbfunc_t callback, void* token);
pmix_status_t status_of(Outcome outcome);

}  // namespace tutti::launcher
