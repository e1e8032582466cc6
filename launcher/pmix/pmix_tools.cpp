// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/pmix/pmix_tools.hpp"

#include <fmt/core.h>
#include <pmix.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace tutti::launcher {
namespace {

std::atomic<ToolServices*> current{nullptr};

// A tool is a namespace of its own.
void tool_connected(pmix_info_t*, size_t, pmix_tool_connection_cbfunc_t done, void* token) {
  static std::atomic<int> tools{0};
  const std::string name = fmt::format("tutti.tool.{}", tools++);
  pmix_proc_t tool;
  std::memset(&tool, 0, sizeof tool);
  PMIX_LOAD_PROCID(&tool, name.c_str(), 0);
  done(PMIX_SUCCESS, &tool, token);
}

struct Query {
  std::vector<std::string> keys;
  pmix_info_cbfunc_t done;
  void* token;
};

char* copied(const std::string& text) {
  return ::strdup(text.c_str());
}

pmix_proc_state_t state_of(const RankView& rank) {
  return rank.finalized ? PMIX_PROC_STATE_TERMINATED : PMIX_PROC_STATE_CONNECTED;
}

// An array of the table's rows, which the info that it is loaded into owns.
void load_table(pmix_info_t& info, const std::string& key, const std::string& nspace, const JobView& view) {
  pmix_data_array_t* array = nullptr;
  const size_t count = view.ranks.size();
  PMIX_DATA_ARRAY_CREATE(array, count, PMIX_PROC_INFO);
  auto* rows = static_cast<pmix_proc_info_t*>(array->array);
  for (size_t i = 0; i < view.ranks.size(); ++i) {
    const RankView& rank = view.ranks[i];
    PMIX_LOAD_PROCID(&rows[i].proc, nspace.c_str(), static_cast<pmix_rank_t>(rank.rank));
    rows[i].hostname = copied(rank.host);
    rows[i].executable_name = copied(rank.program);
    rows[i].pid = rank.pid;
    rows[i].exit_code = 0;
    rows[i].state = state_of(rank);
  }
  std::strncpy(info.key, key.c_str(), PMIX_MAX_KEYLEN);
  info.value.type = PMIX_DATA_ARRAY;
  info.value.data.darray = array;
}

struct Answer {
  pmix_info_t* infos;
  size_t count;
};
void release_answer(void* token) {
  auto* answer = static_cast<Answer*>(token);
  PMIX_INFO_FREE(answer->infos, answer->count);
  delete answer;
}

void answer_query(const Query& query, const std::string& nspace, const JobView& view) {
  auto* answer = new Answer{nullptr, query.keys.size()};
  PMIX_INFO_CREATE(answer->infos, answer->count);
  size_t known = 0;
  for (const std::string& key : query.keys) {
    if (key == PMIX_QUERY_NAMESPACES)
      PMIX_INFO_LOAD(&answer->infos[known], key.c_str(), nspace.c_str(), PMIX_STRING);
    else if (key == PMIX_QUERY_PROC_TABLE)
      load_table(answer->infos[known], key, nspace, view);
    else
      continue;
    ++known;
  }
  const pmix_status_t status = known == query.keys.size() ? PMIX_SUCCESS
                               : known > 0                ? PMIX_QUERY_PARTIAL_SUCCESS
                                                          : PMIX_ERR_NOT_SUPPORTED;
  query.done(status, answer->infos, known, query.token, &release_answer, answer);
}

pmix_status_t query(pmix_proc_t*, pmix_query_t* queries, size_t count, pmix_info_cbfunc_t done, void* token) {
  ToolServices* services = current.load();
  if (!services) return PMIX_ERR_NOT_SUPPORTED;
  Query mine{{}, done, token};
  for (size_t i = 0; i < count; ++i)
    for (char** key = queries[i].keys; key && *key; ++key) mine.keys.emplace_back(*key);
  const Lock lock(services->mutex);
  if (!services->loop) return PMIX_ERR_NOT_SUPPORTED;
  services->loop->post([services, mine = std::move(mine)] {
    assume_on_loop();
    services->look([services, mine](const JobView& view) {
      assume_on_loop();
      answer_query(mine, services->nspace, view);
    });
  });
  return PMIX_SUCCESS;
}

}  // namespace

void put_tool_functions(pmix_server_module_t& module, ToolServices& services) {
  current = &services;
  module.tool_connected = &tool_connected;
  module.query = &query;
}

bool is_release(pmix_status_t code) {
  ToolServices* services = current.load();
  if (code != PMIX_DEBUGGER_RELEASE || !services) return false;
  const Lock lock(services->mutex);
  if (services->loop)
    services->loop->post([services] {
      assume_on_loop();
      services->release();
    });
  return true;
}

}  // namespace tutti::launcher
