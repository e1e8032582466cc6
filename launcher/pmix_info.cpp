// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/pmix_info.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

namespace tutti::launcher {
namespace {

std::string list_of(const std::vector<int>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

void add_maps(InfoList& info, const JobMap& map) {
  const std::string names = fmt::format("{}", fmt::join(map.nodes, ","));
  std::string ranks;
  for (size_t n = 0; n < map.nodes.size(); ++n)
    ranks += (n ? ";" : "") + list_of(map.ranks_on(static_cast<int>(n)));
  char* regex = nullptr;
  if (PMIx_generate_regex(names.c_str(), &regex) == PMIX_SUCCESS)
    info.add(PMIX_NODE_MAP, regex, PMIX_REGEX);
  std::free(regex);
  regex = nullptr;
  if (PMIx_generate_ppn(ranks.c_str(), &regex) == PMIX_SUCCESS)
    info.add(PMIX_PROC_MAP, regex, PMIX_REGEX);
  std::free(regex);
  info.text(PMIX_NODE_LIST, names);
  info.text(PMIX_ANL_MAP, process_mapping(map));
  info.number(PMIX_NUM_NODES, static_cast<uint32_t>(map.nodes.size()));
}

void add_nodes(InfoList& info, const JobMap& map) {
  for (size_t n = 0; n < map.nodes.size(); ++n) {
    const std::vector<int> ranks = map.ranks_on(static_cast<int>(n));
    InfoList node;
    node.text(PMIX_HOSTNAME, map.nodes[n]);
    node.number(PMIX_NODEID, static_cast<uint32_t>(n));
    node.number(PMIX_LOCAL_SIZE, static_cast<uint32_t>(ranks.size()));
    node.number(PMIX_NODE_SIZE, static_cast<uint32_t>(ranks.size()));
    node.text(PMIX_LOCAL_PEERS, list_of(ranks));
    if (!ranks.empty()) node.rank(PMIX_LOCALLDR, static_cast<pmix_rank_t>(ranks[0]));
    info.nested(PMIX_NODE_INFO_ARRAY, node);
  }
}

struct AppCount {
  int first = -1, size = 0;
};

std::vector<AppCount> count_apps(const JobMap& map) {
  std::vector<AppCount> out(map.apps.size());
  for (size_t r = 0; r < map.ranks.size(); ++r) {
    AppCount& app = out[static_cast<size_t>(map.ranks[r].app)];
    if (app.size++ == 0) app.first = static_cast<int>(r);
  }
  return out;
}

void add_apps(InfoList& info, const JobMap& map, const std::vector<AppCount>& counts) {
  for (size_t a = 0; a < map.apps.size(); ++a) {
    InfoList app;
    app.number(PMIX_APPNUM, static_cast<uint32_t>(a));
    app.number(PMIX_APP_SIZE, static_cast<uint32_t>(counts[a].size));
    app.rank(PMIX_APPLDR, static_cast<pmix_rank_t>(counts[a].first));
    app.text(PMIX_WDIR, map.apps[a].folder);
    info.nested(PMIX_APP_INFO_ARRAY, app);
  }
}

void add_ranks(InfoList& info, const NodeTask& task, const Topology::Binding& binding,
               const std::vector<AppCount>& counts) {
  const JobMap& map = task.map;
  for (size_t r = 0; r < map.ranks.size(); ++r) {
    const Place& place = map.ranks[r];
    const int first = counts[static_cast<size_t>(place.app)].first;
    InfoList rank;
    rank.rank(PMIX_RANK, static_cast<pmix_rank_t>(r));
    rank.rank(PMIX_GLOBAL_RANK, static_cast<pmix_rank_t>(r));
    rank.number(PMIX_APPNUM, static_cast<uint32_t>(place.app));
    rank.rank(PMIX_APP_RANK, static_cast<pmix_rank_t>(static_cast<int>(r) - first));
    rank.rank(PMIX_APPLDR, static_cast<pmix_rank_t>(first));
    rank.short_number(PMIX_LOCAL_RANK, static_cast<uint16_t>(place.local_rank));
    rank.short_number(PMIX_NODE_RANK, static_cast<uint16_t>(place.local_rank));
    rank.text(PMIX_HOSTNAME, map.nodes[static_cast<size_t>(place.node)]);
    rank.number(PMIX_NODEID, static_cast<uint32_t>(place.node));
    rank.number(PMIX_REINCARNATION, 0);
    if (place.node == task.node) {
      const auto& bound = binding.processors[static_cast<size_t>(place.local_rank)];
      if (!bound.empty()) rank.text(PMIX_CPUSET, "hwloc:" + list_of(bound));
    }
    info.nested(PMIX_PROC_INFO_ARRAY, rank);
  }
}

}  // namespace

std::string process_mapping(const JobMap& map) {
  struct Block {
    int first, nodes, each;
  };
  std::vector<Block> blocks;
  for (size_t r = 0; r < map.ranks.size();) {
    const int node = map.ranks[r].node;
    size_t end = r;
    while (end < map.ranks.size() && map.ranks[end].node == node) ++end;
    const int count = static_cast<int>(end - r);
    if (!blocks.empty() && blocks.back().each == count &&
        blocks.back().first + blocks.back().nodes == node)
      ++blocks.back().nodes;
    else
      blocks.push_back({node, 1, count});
    r = end;
  }
  std::string out = "(vector";
  for (const Block& b : blocks) out += fmt::format(",({},{},{})", b.first, b.nodes, b.each);
  return out + ")";
}

InfoArray describe_job(const NodeTask& task, const Topology::Binding& binding,
                       const std::string& nspace, const std::string& folder) {
  const JobMap& map = task.map;
  const std::vector<int> local = map.ranks_on(task.node);
  const auto size = static_cast<uint32_t>(map.ranks.size());
  uint32_t slots = 0;
  for (int s : map.slots) slots += static_cast<uint32_t>(s);
  InfoList info;
  info.text(PMIX_JOBID, nspace);
  info.number(PMIX_JOB_SIZE, size);
  info.number(PMIX_UNIV_SIZE, std::max(slots, size));
  info.number(PMIX_MAX_PROCS, std::max(slots, size));
  info.number(PMIX_JOB_NUM_APPS, static_cast<uint32_t>(map.apps.size()));
  info.number(PMIX_LOCAL_SIZE, static_cast<uint32_t>(local.size()));
  info.number(PMIX_NODE_SIZE, static_cast<uint32_t>(local.size()));
  info.text(PMIX_LOCAL_PEERS, list_of(local));
  if (!local.empty()) info.rank(PMIX_LOCALLDR, static_cast<pmix_rank_t>(local[0]));
  info.number(PMIX_NODEID, static_cast<uint32_t>(task.node));
  info.flag(PMIX_SPAWNED, false);
  info.text(PMIX_TMPDIR, folder);
  info.text(PMIX_NSDIR, folder);
  info.flag(PMIX_TDIR_RMCLEAN, true);
  const std::vector<AppCount> counts = count_apps(map);
  add_maps(info, map);
  add_nodes(info, map);
  add_apps(info, map, counts);
  add_ranks(info, task, binding, counts);
  return info.array();
}

std::optional<std::string> pack_event(pmix_status_t code, const pmix_proc_t& source,
                                      pmix_info_t* info, size_t count) {
  pmix_data_buffer_t buffer;
  PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
  pmix_proc_t from = source;
  const bool packed =
      PMIx_Data_pack(nullptr, &buffer, &code, 1, PMIX_STATUS) == PMIX_SUCCESS &&
      PMIx_Data_pack(nullptr, &buffer, &from, 1, PMIX_PROC) == PMIX_SUCCESS &&
      PMIx_Data_pack(nullptr, &buffer, &count, 1, PMIX_SIZE) == PMIX_SUCCESS &&
      (count == 0 || PMIx_Data_pack(nullptr, &buffer, info, static_cast<int32_t>(count),
                                    PMIX_INFO) == PMIX_SUCCESS);
  pmix_byte_object_t bytes{nullptr, 0};
  std::optional<std::string> out;
  if (packed && PMIx_Data_unload(&buffer, &bytes) == PMIX_SUCCESS) {
    out.emplace(bytes.bytes, bytes.size);
    std::free(bytes.bytes);
  }
  PMIX_DATA_BUFFER_DESTRUCT(&buffer);
  return out;
}

void raise_event(const std::string& packed) {
  pmix_data_buffer_t buffer;
  PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
  pmix_byte_object_t bytes{static_cast<char*>(std::malloc(packed.size() + 1)), packed.size()};
  std::memcpy(bytes.bytes, packed.data(), packed.size());
  pmix_status_t code = PMIX_SUCCESS;
  pmix_proc_t source;
  size_t count = 0;
  int32_t one = 1;
  bool right = PMIx_Data_load(&buffer, &bytes) == PMIX_SUCCESS &&
               PMIx_Data_unpack(nullptr, &buffer, &code, &one, PMIX_STATUS) == PMIX_SUCCESS &&
               PMIx_Data_unpack(nullptr, &buffer, &source, &one, PMIX_PROC) == PMIX_SUCCESS &&
               PMIx_Data_unpack(nullptr, &buffer, &count, &one, PMIX_SIZE) == PMIX_SUCCESS &&
               count <= packed.size();
  pmix_info_t* info = nullptr;
  if (right && count > 0) {
    PMIX_INFO_CREATE(info, count);
    auto several = static_cast<int32_t>(count);
    right = PMIx_Data_unpack(nullptr, &buffer, info, &several, PMIX_INFO) == PMIX_SUCCESS;
  }
  // Local, or this server would hand it up to the job once more.
  if (right) PMIx_Notify_event(code, &source, PMIX_RANGE_LOCAL, info, count, nullptr, nullptr);
  if (info) PMIX_INFO_FREE(info, count);
  PMIX_DATA_BUFFER_DESTRUCT(&buffer);
}

}  // namespace tutti::launcher
