// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/pmix/pmix_info.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string_view>

namespace tutti::launcher {
namespace {

std::string list_of(const std::vector<int>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

// One value in the form in which the library sends it, behind a count of one; empty: it cannot be packed.
std::string packed(const void* value, pmix_data_type_t type) {
  pmix_data_buffer_t buffer;
  PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
  pmix_byte_object_t bytes{nullptr, 0};
  std::string out;
  if (PMIx_Data_pack(nullptr, &buffer, const_cast<void*>(value), 1, type) == PMIX_SUCCESS &&
      PMIx_Data_unload(&buffer, &bytes) == PMIX_SUCCESS)
    out.assign(bytes.bytes, bytes.size);
  std::free(bytes.bytes);
  PMIX_DATA_BUFFER_DESTRUCT(&buffer);
  return out;
}

// That count. A library that is built for debugging writes a type behind it: then this is none (empty).
std::string packed_count() {
  const uint8_t byte = 0x5a;
  const char* const empty = "";
  std::string count = packed(&byte, PMIX_BYTE);
  if (!count.empty()) count.pop_back();
  return packed(&empty, PMIX_STRING).starts_with(count) ? count : "";
}

// Which nodes, and which ranks, the library is told of in full. It gives each rank a copy of all that it was
// told, 2.3 KiB for each such rank: so in a large job these are the node's own, unless they are many, too, and
// all others are in PMIX_ANL_MAP, which is as long as the map is irregular. Another MPI's program may ask for more
// than that, and is told everything.
bool is_compact(const NodeTask& task) {
  static const bool known_version = std::string_view(PMIx_Get_version()).find(" 4.") != std::string_view::npos;
  const bool small = task.map.ranks.size() <= static_cast<size_t>(task.pmix_ranks);
  return known_version && !small && !task.foreign_mpi && !packed_count().empty();
}

std::vector<int> nodes_told(const NodeTask& task) {
  if (is_compact(task)) return {task.node};
  std::vector<int> all(task.map.nodes.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void add_maps(InfoList& info, const JobMap& map, const std::vector<int>& told) {
  std::string names, ranks;
  for (const int n : told) {
    const char* const comma = names.empty() ? "" : ",";
    names += comma + map.nodes[static_cast<size_t>(n)];
    ranks += (*comma ? ";" : "") + list_of(map.ranks_on(n));
  }
  char* regex = nullptr;
  if (PMIx_generate_regex(names.c_str(), &regex) == PMIX_SUCCESS) info.add(PMIX_NODE_MAP, regex, PMIX_REGEX);
  std::free(regex);
  regex = nullptr;
  if (PMIx_generate_ppn(ranks.c_str(), &regex) == PMIX_SUCCESS) info.add(PMIX_PROC_MAP, regex, PMIX_REGEX);
  std::free(regex);
  info.text(PMIX_NODE_LIST, fmt::format("{}", fmt::join(map.nodes, ",")));
  info.text(PMIX_ANL_MAP, process_mapping(map));
  info.number(PMIX_NUM_NODES, static_cast<uint32_t>(map.nodes.size()));
}

void add_nodes(InfoList& info, const JobMap& map, const std::vector<int>& told) {
  for (const int n : told) {
    const std::vector<int> ranks = map.ranks_on(n);
    InfoList node;
    node.text(PMIX_HOSTNAME, map.nodes[static_cast<size_t>(n)]);
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
  for (const RankRange& range : map.ranks.ranges()) {
    AppCount& app = out[static_cast<size_t>(range.app)];
    if (app.size == 0) app.first = range.first;
    app.size += range.count();
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

// Who has spawned the job, if somebody has. A rank may ask for it as the job's or as its own.
void add_parent(InfoList& info, const std::string& parent) {
  info.flag(PMIX_SPAWNED, !parent.empty());
  const size_t colon = parent.rfind(':');
  if (colon == parent.npos) return;
  pmix_proc_t proc;
  std::memset(&proc, 0, sizeof proc);
  PMIX_LOAD_PROCID(&proc, parent.substr(0, colon).c_str(),
                   static_cast<pmix_rank_t>(std::strtoul(parent.c_str() + colon + 1, nullptr, 10)));
  info.add(PMIX_PARENT_ID, &proc, PMIX_PROC);
}

void fill_rank(InfoList& rank, const NodeTask& task, int r, const Topology::Binding& binding,
               const std::vector<AppCount>& counts) {
  const JobMap& map = task.map;
  const RankPlace place = map.ranks[static_cast<size_t>(r)];
  const int first = counts[static_cast<size_t>(place.app)].first;
  rank.rank(PMIX_RANK, static_cast<pmix_rank_t>(r));
  rank.rank(PMIX_GLOBAL_RANK, static_cast<pmix_rank_t>(r));
  rank.number(PMIX_APPNUM, static_cast<uint32_t>(place.app));
  rank.rank(PMIX_APP_RANK, static_cast<pmix_rank_t>(r - first));
  rank.rank(PMIX_APPLDR, static_cast<pmix_rank_t>(first));
  rank.short_number(PMIX_LOCAL_RANK, static_cast<uint16_t>(place.local_rank));
  rank.short_number(PMIX_NODE_RANK, static_cast<uint16_t>(place.local_rank));
  rank.text(PMIX_HOSTNAME, map.nodes[static_cast<size_t>(place.node)]);
  rank.number(PMIX_NODEID, static_cast<uint32_t>(place.node));
  rank.number(PMIX_REINCARNATION, 0);
  if (!task.parent.empty()) add_parent(rank, task.parent);
  if (place.node == task.node && static_cast<size_t>(place.local_rank) < binding.processors.size()) {
    const auto& bound = binding.processors[static_cast<size_t>(place.local_rank)];
    if (!bound.empty()) rank.text(PMIX_CPUSET, "hwloc:" + list_of(bound));
  }
}

void add_rank(InfoList& info, const NodeTask& task, int r, const Topology::Binding& binding,
              const std::vector<AppCount>& counts) {
  InfoList rank;
  fill_rank(rank, task, r, binding, counts);
  info.nested(PMIX_PROC_INFO_ARRAY, rank);
}

// What a rank learns of one of its own node, in the form in which the library sends it: the rank, then names
// and values, each pair behind a count.
void add_blob(InfoList& info, const NodeTask& task, int r, const Topology::Binding& binding,
              const std::vector<AppCount>& counts) {
  InfoList rank;
  fill_rank(rank, task, r, binding, counts);
  const InfoArray values = rank.array();
  const auto number = static_cast<pmix_rank_t>(r);
  const size_t count = packed_count().size();
  std::string blob = packed(&number, PMIX_PROC_RANK);
  for (size_t i = 0; i < values.size(); ++i) {
    const char* const key = values.data()[i].key;
    blob += packed(&key, PMIX_STRING) + packed(&values.data()[i].value, PMIX_VALUE).substr(count);
  }
  const pmix_byte_object_t bytes{blob.data(), blob.size()};
  info.add(PMIX_PROC_BLOB, &bytes, PMIX_BYTE_OBJECT);
}

// The server of PMIx 4 lets no rank in before it has collected something of each rank below the job's size,
// and a rank keeps 1.6 KiB of each, even where that is nothing. But it takes the first size that it is told,
// while a rank believes the last one, which may stand among what is only passed on: so the server hears of no
// ranks, and each rank of the job's size and of this node's ranks, if they are few: of many, each would
// keep a copy of each other one's, and starting a node would take time and memory by the square of its ranks.
void add_size_and_ranks(InfoList& info, const NodeTask& task, const std::vector<int>& local,
                        const Topology::Binding& binding, const std::vector<AppCount>& counts) {
  info.number(PMIX_JOB_SIZE, 0);
  InfoList passed_on;
  passed_on.number(PMIX_JOB_SIZE, static_cast<uint32_t>(task.map.ranks.size()));
  if (local.size() <= static_cast<size_t>(task.pmix_ranks))
    for (const int rank : local) add_blob(passed_on, task, rank, binding, counts);
  info.nested(PMIX_JOB_INFO_ARRAY, passed_on);
}

}  // namespace

std::string process_mapping(const JobMap& map) {
  struct Block {
    int first, nodes, each;
  };
  std::vector<Block> blocks;
  // The block is complete: the nodes of the one before may go on with it.
  const auto close = [&blocks] {
    if (blocks.size() < 2) return;
    const Block last = blocks.back();
    Block& before = blocks[blocks.size() - 2];
    if (last.nodes != 1 || last.each != before.each || last.first != before.first + before.nodes) return;
    ++before.nodes;
    blocks.pop_back();
  };
  for (const RankRange& range : map.ranks.ranges())
    for (int node = range.first_node; node < range.first_node + range.nodes; ++node) {
      if (!blocks.empty() && blocks.back().nodes == 1 && blocks.back().first == node) {
        blocks.back().each += range.each;  // of another program
        continue;
      }
      close();
      blocks.push_back({node, 1, range.each});
    }
  close();
  std::string out = "(vector";
  for (const Block& b : blocks) out += fmt::format(",({},{},{})", b.first, b.nodes, b.each);
  return out + ")";
}

InfoArray describe_job(const NodeTask& task, const Topology::Binding& binding, const std::string& nspace,
                       const std::string& folder) {
  const JobMap& map = task.map;
  const std::vector<int> local = map.ranks_on(task.node);
  const auto size = static_cast<uint32_t>(map.ranks.size());
  uint32_t slots = 0;
  for (int s : task.allocation.empty() ? map.slots : task.allocation_slots) slots += static_cast<uint32_t>(s);
  InfoList info;
  info.text(PMIX_JOBID, nspace);
  const std::vector<AppCount> counts = count_apps(map);
  if (is_compact(task))
    add_size_and_ranks(info, task, local, binding, counts);
  else
    info.number(PMIX_JOB_SIZE, size);
  info.number(PMIX_UNIV_SIZE, std::max(slots, size));
  info.number(PMIX_MAX_PROCS, std::max(slots, size));
  info.number(PMIX_JOB_NUM_APPS, static_cast<uint32_t>(map.apps.size()));
  info.number(PMIX_LOCAL_SIZE, static_cast<uint32_t>(local.size()));
  info.number(PMIX_NODE_SIZE, static_cast<uint32_t>(local.size()));
  info.text(PMIX_LOCAL_PEERS, list_of(local));
  if (!local.empty()) info.rank(PMIX_LOCALLDR, static_cast<pmix_rank_t>(local[0]));
  if (task.node >= 0) info.number(PMIX_NODEID, static_cast<uint32_t>(task.node));
  add_parent(info, task.parent);
  info.text(PMIX_TMPDIR, folder);
  info.text(PMIX_NSDIR, folder);
  info.flag(PMIX_TDIR_RMCLEAN, true);
  const std::vector<int> told = nodes_told(task);
  add_maps(info, map, told);
  add_nodes(info, map, told);
  add_apps(info, map, counts);
  for (const int node : told)
    for (const int rank : map.ranks_on(node)) add_rank(info, task, rank, binding, counts);
  return info.array();
}

std::optional<std::string> pack_event(pmix_status_t code, const pmix_proc_t& source, pmix_info_t* info, size_t count) {
  pmix_data_buffer_t buffer;
  PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
  pmix_proc_t from = source;
  const bool packed =
      PMIx_Data_pack(nullptr, &buffer, &code, 1, PMIX_STATUS) == PMIX_SUCCESS &&
      PMIx_Data_pack(nullptr, &buffer, &from, 1, PMIX_PROC) == PMIX_SUCCESS &&
      PMIx_Data_pack(nullptr, &buffer, &count, 1, PMIX_SIZE) == PMIX_SUCCESS &&
      (count == 0 || PMIx_Data_pack(nullptr, &buffer, info, static_cast<int32_t>(count), PMIX_INFO) == PMIX_SUCCESS);
  pmix_byte_object_t bytes{nullptr, 0};
  std::optional<std::string> out;
  if (packed && PMIx_Data_unload(&buffer, &bytes) == PMIX_SUCCESS) {
    out.emplace(bytes.bytes, bytes.size);
    std::free(bytes.bytes);
  }
  PMIX_DATA_BUFFER_DESTRUCT(&buffer);
  return out;
}

std::optional<std::string> pack_failure(const pmix_proc_t& process, const std::string& why) {
  InfoList info;
  info.add(PMIX_EVENT_AFFECTED_PROC, &process, PMIX_PROC);
  info.text(PMIX_EVENT_TEXT_MESSAGE, why);
  info.flag(PMIX_EVENT_NON_DEFAULT,
            true);  // what clients of other kinds do by default may end them with words of theirs
  const InfoArray all = info.array();
  return pack_event(PMIX_ERR_PROC_ABORTED, process, all.data(), all.size());
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
               PMIx_Data_unpack(nullptr, &buffer, &count, &one, PMIX_SIZE) == PMIX_SUCCESS && count <= packed.size();
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
