// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/topology.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <tuple>

#include "base/cgroup.hpp"
#include "base/log.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

constexpr std::string_view kBindNames[] = {"auto", "none",    "hwthread", "core",
                                          "l2cache", "l3cache", "numa", "socket"};

hwloc_obj_type_t type_of(BindTo to) {
  switch (to) {
    case BindTo::hwthread:
      return HWLOC_OBJ_PU;
    case BindTo::l2cache:
      return HWLOC_OBJ_L2CACHE;
    case BindTo::l3cache:
      return HWLOC_OBJ_L3CACHE;
    case BindTo::numa:
      return HWLOC_OBJ_NUMANODE;
    case BindTo::socket:
      return HWLOC_OBJ_PACKAGE;
    default:
      return HWLOC_OBJ_CORE;
  }
}

// hwloc's plugins look for devices, X servers among them, and nobody here asks for devices: loading
// them takes 3 ms, as long as all the rest. Plugins that the user has told of stay.
class WithoutPlugins {
 public:
  WithoutPlugins() : told_(::getenv(kVariable) != nullptr) {
    if (!told_) ::setenv(kVariable, "/nonexistent", 1);
  }
  ~WithoutPlugins() {
    if (!told_) ::unsetenv(kVariable);  // ranks have no part in this
  }
  WithoutPlugins(const WithoutPlugins&) = delete;

 private:
  static constexpr const char* kVariable = "HWLOC_PLUGINS_PATH";
  const bool told_;
};

using Loaded = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;

std::vector<Gpu> gpus_of(hwloc_topology_t topology) {
  constexpr unsigned kNvidia = 0x10de, kAmd = 0x1002, kDisplay = 0x03, kAccelerator = 0x12;
  // hwloc goes from part to part of the node.
  std::vector<std::pair<std::tuple<unsigned, unsigned, unsigned, unsigned>, Gpu>> found;
  for (hwloc_obj_t at = nullptr; (at = hwloc_get_next_pcidev(topology, at)) != nullptr;) {
    const auto& device = at->attr->pcidev;
    const unsigned kind = device.class_id >> 8;
    if ((kind != kDisplay && kind != kAccelerator) ||
        (device.vendor_id != kNvidia && device.vendor_id != kAmd))
      continue;
    Gpu& gpu = found.emplace_back(std::tuple(device.domain, device.bus, device.dev, device.func), Gpu()).second;
    gpu.maker = device.vendor_id == kNvidia ? Gpu::Maker::nvidia : Gpu::Maker::amd;
    const hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, at);
    int cpu;
    hwloc_bitmap_foreach_begin(cpu, near->cpuset) gpu.processors.push_back(cpu);
    hwloc_bitmap_foreach_end();
  }
  std::ranges::sort(found, {}, [](const auto& each) { return each.first; });
  std::vector<Gpu> out;
  for (auto& [address, gpu] : found) out.push_back(std::move(gpu));
  return out;
}

std::vector<Gpu> gpus_of_file(const char* file, bool& right) {
  hwloc_topology_t topology = nullptr;
  right = hwloc_topology_init(&topology) == 0;
  if (!right) return {};
  const Loaded loaded(topology, &hwloc_topology_destroy);
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  right = (!file || hwloc_topology_set_xml(topology, file) == 0) &&
          hwloc_topology_load(topology) == 0;
  return right ? gpus_of(topology) : std::vector<Gpu>();
}

}  // namespace

std::vector<Gpu> gpus_of_this_machine() {
  const WithoutPlugins none;
  bool right = false;
  return gpus_of_file(nullptr, right);
}

Result<std::vector<Gpu>> gpus_of_xml(const std::string& file) {
  bool right = false;
  std::vector<Gpu> out = gpus_of_file(file.c_str(), right);
  if (!right) return failure(MPI_ERR_FILE, "{} is no topology that hwloc has written", file);
  return out;
}

Result<BindTo> parse_bind_to(std::string_view word) {
  if (word == "package") word = "socket";
  for (size_t i = 0; i < std::size(kBindNames); ++i)
    if (kBindNames[i] == word) return static_cast<BindTo>(i);
  return failure(MPI_ERR_ARG, "--bind-to takes none, hwthread, core, l2cache, l3cache, numa or socket, not '{}'", word);
}

std::string_view bind_to_name(BindTo to) {
  return kBindNames[static_cast<int>(to)];
}

Result<Topology> Topology::of_this_machine() {
  const WithoutPlugins none;
  Topology out;
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return failure(MPI_ERR_OTHER, "hwloc does not start");
  out.topology_.reset(topology);
  hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
  hwloc_topology_set_cache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_L2CACHE, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_L3CACHE, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(topology) != 0)
    return failure(MPI_ERR_OTHER, "hwloc cannot read this machine's topology");
  out.allowed_.reset(hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology)));
  std::vector<int> mine;
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) mine.push_back(cpu);
    out.restrict_to(mine);
  }
  out.count_cores();
  // Rounded down: who polls on what is granted of a core in part is soon stopped.
  if (const double quota = cgroup_quota(); quota > 0) out.limit_cores(static_cast<int>(quota));
  return out;
}

Result<Topology> Topology::synthetic(const std::string& description) {
  Topology out;
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return failure(MPI_ERR_OTHER, "hwloc does not start");
  out.topology_.reset(topology);
  if (hwloc_topology_set_synthetic(topology, description.c_str()) != 0 ||
      hwloc_topology_load(topology) != 0)
    return failure(MPI_ERR_ARG, "'{}' is not a synthetic topology of hwloc", description);
  out.allowed_.reset(hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology)));
  out.count_cores();
  return out;
}

Result<Topology> Topology::of_xml(const std::string& file) {
  Topology out;
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return failure(MPI_ERR_OTHER, "hwloc does not start");
  out.topology_.reset(topology);
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (hwloc_topology_set_xml(topology, file.c_str()) != 0 || hwloc_topology_load(topology) != 0)
    return failure(MPI_ERR_FILE, "{} is no topology that hwloc has written", file);
  out.allowed_.reset(hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology)));
  out.gpus_ = gpus_of(topology);
  out.count_cores();
  return out;
}

std::string Topology::hwloc_name() {
  const unsigned version = hwloc_get_api_version();
  return fmt::format("hwloc:{}.{}.{}", version >> 16, version >> 8 & 0xff, version & 0xff);
}

int Topology::allowed_threads() const {
  return std::max(1, hwloc_bitmap_weight(allowed_.get()));
}

void Topology::restrict_to(const std::vector<int>& processors) {
  const Set mask(hwloc_bitmap_alloc());
  for (int cpu : processors) hwloc_bitmap_set(mask.get(), cpu);
  hwloc_bitmap_and(allowed_.get(), allowed_.get(), mask.get());
  count_cores();
}

void Topology::limit_cores(int quota) {
  allowed_cores_ = std::max(1, std::min(allowed_cores_, quota));
}

void Topology::count_cores() {
  allowed_cores_ = std::max<int>(1, static_cast<int>(objects(BindTo::core).size()));
}

NodeShape Topology::shape() const {
  NodeShape out;
  out.cores = allowed_cores_;
  out.threads = allowed_threads();
  const auto count = [this](BindTo what) { return std::max(1, static_cast<int>(objects(what).size())); };
  out.sockets = count(BindTo::socket);
  out.numas = count(BindTo::numa);
  out.l3caches = count(BindTo::l3cache);
  return out;
}

std::vector<int> Topology::allowed() const {
  std::vector<int> out;
  int cpu;
  hwloc_bitmap_foreach_begin(cpu, allowed_.get()) out.push_back(cpu);
  hwloc_bitmap_foreach_end();
  return out;
}

namespace {

std::vector<int> processors_of(hwloc_const_bitmap_t set) {
  std::vector<int> out;
  int cpu;
  hwloc_bitmap_foreach_begin(cpu, set) out.push_back(cpu);
  hwloc_bitmap_foreach_end();
  return out;
}

}  // namespace

// "0,2-3" are cores, "1:0-1" those of a socket, "1:*" all of that; numbers as hwloc counts.
Result<std::vector<int>> Topology::cores_named(std::string_view word) const {
  const auto wrong = [&](std::string_view why) {
    return failure(MPI_ERR_ARG, "slot={}: {}; write cores such as 0,2-3, or those of a socket such as 1:0-3", word,
                   why);
  };
  const hwloc_topology_t t = topology_.get();
  hwloc_obj_t root = hwloc_get_root_obj(t);
  const size_t colon = word.find(':');
  std::string list(word);
  if (colon != word.npos) {
    const int socket = std::atoi(list.c_str());
    root = hwloc_get_obj_by_type(t, HWLOC_OBJ_PACKAGE, static_cast<unsigned>(socket));
    if (!root || colon == 0 || word.substr(0, colon).find_first_not_of("0123456789") != word.npos)
      return wrong("there is no such socket on this node");
    list.erase(0, colon + 1);
  }
  const int count = hwloc_get_nbobjs_inside_cpuset_by_type(t, root->cpuset, HWLOC_OBJ_CORE);
  const Set chosen(hwloc_bitmap_alloc()), set(hwloc_bitmap_alloc());
  if (list == "*")
    hwloc_bitmap_set_range(chosen.get(), 0, count - 1);
  else if (list.empty() || list.find_first_not_of("0123456789,-") != list.npos ||
           hwloc_bitmap_list_sscanf(chosen.get(), list.c_str()) != 0)
    return wrong("this names no cores");
  if (hwloc_bitmap_iszero(chosen.get()) || hwloc_bitmap_last(chosen.get()) < 0 ||
      hwloc_bitmap_last(chosen.get()) >= count)
    return wrong(fmt::format("there are {} cores, and the first is 0", count));
  for (const int core : processors_of(chosen.get()))
    hwloc_bitmap_or(set.get(), set.get(),
                    hwloc_get_obj_inside_cpuset_by_type(t, root->cpuset, HWLOC_OBJ_CORE, static_cast<unsigned>(core))
                        ->cpuset);
  hwloc_bitmap_and(set.get(), set.get(), allowed_.get());
  if (hwloc_bitmap_iszero(set.get())) return wrong("none of these cores may be used here");
  return processors_of(set.get());
}

Result<std::vector<int>> processors_named(const std::string& list) {
  const hwloc_bitmap_t set = hwloc_bitmap_alloc();
  const bool right = !list.empty() && list.find_first_not_of("0123456789,-") == list.npos &&
                     hwloc_bitmap_list_sscanf(set, list.c_str()) == 0 && hwloc_bitmap_first(set) >= 0 &&
                     hwloc_bitmap_last(set) >= 0 && hwloc_bitmap_last(set) < 1 << 16;
  std::vector<int> out = right ? processors_of(set) : std::vector<int>();
  hwloc_bitmap_free(set);
  if (!right)
    return failure(MPI_ERR_ARG, "--cpu-set takes numbers of processors such as 0,2-5, as taskset -c does, not '{}'", list);
  return out;
}

Topology Topology::copy() const {
  Topology out;
  hwloc_topology_t topology = nullptr;
  TUTTI_INVARIANT(hwloc_topology_dup(&topology, topology_.get()) == 0, "hwloc copies what it has read");
  out.topology_.reset(topology);
  out.allowed_.reset(hwloc_bitmap_dup(allowed_.get()));
  out.allowed_cores_ = allowed_cores_;
  out.gpus_ = gpus_;
  return out;
}

Result<std::vector<int>> processors_near(const std::string& device) {
  for (const char* kind : {"net", "infiniband", "drm", "block"}) {
    const std::string folder = fmt::format("/sys/class/{}/{}", kind, device);
    if (::access(folder.c_str(), F_OK) != 0) continue;
    std::ifstream file(folder + "/device/local_cpulist");
    std::string list;
    std::getline(file, list);
    const hwloc_bitmap_t set = hwloc_bitmap_alloc();
    std::vector<int> out;
    if (hwloc_bitmap_list_sscanf(set, list.c_str()) == 0 && hwloc_bitmap_last(set) >= 0) out = processors_of(set);
    hwloc_bitmap_free(set);
    return out;
  }
  return failure(MPI_ERR_ARG, "--map-by dist:{}: this node has no such device in /sys/class/net or infiniband", device);
}

// The allowed part of each object to bind to, as hwloc counts them.
std::vector<Topology::Set> Topology::objects(BindTo to) const {
  std::vector<Set> out;
  const hwloc_topology_t t = topology_.get();
  const int count = hwloc_get_nbobjs_by_type(t, type_of(to));
  for (int i = 0; i < count; ++i) {
    const hwloc_obj_t object = hwloc_get_obj_by_type(t, type_of(to), static_cast<unsigned>(i));
    Set part(hwloc_bitmap_dup(object->cpuset));
    hwloc_bitmap_and(part.get(), part.get(), allowed_.get());
    // The memory of a GPU may be a NUMA node without processors, or with those of another one.
    const bool again =
        std::ranges::any_of(out, [&](const Set& known) { return hwloc_bitmap_isequal(known.get(), part.get()) != 0; });
    if (!again && !hwloc_bitmap_iszero(part.get())) out.push_back(std::move(part));
  }
  return out;
}

// The node itself has no parts.
std::vector<Topology::Set> Topology::parts_of_node(MapPolicy::Inside part) const {
  using Inside = MapPolicy::Inside;
  std::vector<Set> parts;
  if (part == Inside::gpu) {
    for (const Gpu& gpu : gpus_) {
      Set& set = parts.emplace_back(hwloc_bitmap_alloc());
      for (int cpu : gpu.processors) hwloc_bitmap_set(set.get(), static_cast<unsigned>(cpu));
    }
  } else if (part != Inside::node) {
    parts = objects(part == Inside::socket    ? BindTo::socket
                    : part == Inside::l3cache ? BindTo::l3cache
                    : part == Inside::numa    ? BindTo::numa
                    : part == Inside::core    ? BindTo::core
                                              : BindTo::hwthread);
  }
  return parts;
}

// The numbers of these units by the parts of the node that hold them; behind GPUs, those that are near none.
std::vector<std::vector<int>> Topology::groups_of(const std::vector<Set>& units, MapPolicy::Inside part) const {
  using Inside = MapPolicy::Inside;
  const std::vector<Set> parts = parts_of_node(part);
  const bool by_gpu = part == Inside::gpu;
  std::vector<std::vector<int>> out(std::max<size_t>(1, parts.size() + (by_gpu ? 1 : 0)));
  for (size_t u = 0; u < units.size(); ++u) {
    size_t best = by_gpu ? parts.size() : 0;
    bool found = false;
    for (size_t p = parts.size(); p-- > 0;) {
      if (!hwloc_bitmap_intersects(parts[p].get(), units[u].get())) continue;
      // Two GPUs that are near the same cores share these.
      const bool keeps = by_gpu && found && out[best].size() < out[p].size();
      best = keeps ? best : p;
      found = true;
    }
    out[best].push_back(static_cast<int>(u));
  }
  return out;
}

// In the order in which ranks take them: in turns over the parts that --map-by names.
std::vector<Topology::Set> Topology::units(BindTo to, const MapPolicy& policy) const {
  std::vector<Set> all = objects(to), out;
  if (!policy.near.empty()) {
    Result<std::vector<int>> near = processors_near(policy.near);
    const Set set(hwloc_bitmap_alloc());
    if (near)
      for (int cpu : *near) hwloc_bitmap_set(set.get(), static_cast<unsigned>(cpu));
    std::stable_partition(
        all.begin(), all.end(), [&](const Set& unit) { return hwloc_bitmap_intersects(unit.get(), set.get()) != 0; });
  }
  if (policy.inside == MapPolicy::Inside::core || policy.by == MapPolicy::By::ppr) return all;
  std::vector<std::vector<int>> groups = groups_of(all, policy.inside);
  std::vector<int> last;
  if (policy.inside == MapPolicy::Inside::gpu) last = std::move(groups.back()), groups.pop_back();
  for (size_t turn = 0; out.size() + last.size() < all.size(); ++turn)
    for (const std::vector<int>& group : groups)
      if (turn < group.size()) out.push_back(std::move(all[static_cast<size_t>(group[turn])]));
  for (const int unit : last) out.push_back(std::move(all[static_cast<size_t>(unit)]));
  return out;
}

// For each rank the numbers of its units.
std::vector<std::vector<int>> Topology::places(int ranks, const std::vector<Set>& units, size_t width,
                                               const MapPolicy& policy) const {
  using RankBy = MapPolicy::RankBy;
  std::vector<std::vector<int>> out(static_cast<size_t>(ranks));
  const bool by_part = policy.by == MapPolicy::By::ppr && policy.inside != MapPolicy::Inside::node;
  if (by_part) {  // so many on each part, one part after the other
    // Units that lie in the part, or the one in which it lies. Others may have taken all of a part.
    std::vector<std::vector<int>> groups;
    for (const Set& part : parts_of_node(policy.inside)) {
      std::vector<int>& group = groups.emplace_back();
      for (size_t u = 0; u < units.size(); ++u)
        if (hwloc_bitmap_intersects(part.get(), units[u].get())) group.push_back(static_cast<int>(u));
      if (group.empty()) groups.pop_back();
    }
    for (size_t rank = 0; rank < out.size(); ++rank) {
      const size_t part = rank / static_cast<size_t>(policy.per_part), place = rank % static_cast<size_t>(policy.per_part);
      for (size_t i = 0; i < width; ++i) {
        if (groups.empty()) break;
        const std::vector<int>& group = groups[part % groups.size()];
        out[rank].push_back(group[(place * width + i) % group.size()]);
      }
    }
  } else {
    for (size_t rank = 0; rank < out.size(); ++rank)
      for (size_t i = 0; i < std::min(width, units.size()); ++i)
        out[rank].push_back(static_cast<int>((rank * width + i) % units.size()));
  }
  for (std::vector<int>& place : out)  // a node of which hwloc knows no such part
    if (place.empty()) place.push_back(0);
  const RankBy by = policy.rank_by;
  if (by != RankBy::fill && by != RankBy::part && by != RankBy::span) return out;
  std::vector<size_t> part_of_unit(units.size(), 0);
  const std::vector<std::vector<int>> groups = groups_of(units, policy.rank_part);
  for (size_t g = 0; g < groups.size(); ++g)
    for (int unit : groups[g]) part_of_unit[static_cast<size_t>(unit)] = g;
  std::vector<std::vector<std::vector<int>>> of_part(groups.size());
  for (std::vector<int>& place : out) of_part[part_of_unit[static_cast<size_t>(place[0])]].push_back(std::move(place));
  std::vector<std::vector<int>> renumbered;
  const bool turns = by != RankBy::fill;
  for (size_t turn = 0; renumbered.size() < out.size(); ++turn)
    for (auto& part : of_part)
      for (size_t i = turns ? turn : 0; i < (turns ? std::min(part.size(), turn + 1) : part.size()); ++i)
        renumbered.push_back(std::move(part[i]));
  return renumbered;
}

Topology::Binding Topology::bind(int ranks, BindTo to, const MapPolicy& policy, const std::vector<int>& taken) const {
  Binding out;
  out.to = to;
  const BindTo small = policy.hwthreads ? BindTo::hwthread : BindTo::core;
  const int room = policy.hwthreads ? allowed_threads() : allowed_cores_;
  if (to == BindTo::automatic) out.to = ranks * policy.cores_per_rank <= room ? small : BindTo::none;
  out.processors.resize(static_cast<size_t>(ranks));
  if (out.to == BindTo::none) return out;
  std::vector<Set> all = units(out.to, policy);
  if (all.empty()) {
    out.to = BindTo::none;
    return out;
  }
  const bool by_core = out.to == BindTo::core || out.to == BindTo::hwthread;
  const size_t width = by_core ? static_cast<size_t>(policy.cores_per_rank) : 1;
  if (!taken.empty()) {
    const Set others(hwloc_bitmap_alloc());
    for (int cpu : taken) hwloc_bitmap_set(others.get(), static_cast<unsigned>(cpu));
    const auto is_taken = [&](const Set& unit) { return hwloc_bitmap_intersects(unit.get(), others.get()) != 0; };
    const auto free = static_cast<size_t>(std::ranges::count_if(all, [&](const Set& u) { return !is_taken(u); }));
    if (free >= static_cast<size_t>(ranks) * width) {
      std::erase_if(all, is_taken);
    } else if (to == BindTo::automatic && free < all.size()) {
      out.to = BindTo::none;
      out.crowded = true;
      return out;
    }
  }
  const std::vector<std::vector<int>> chosen = places(ranks, all, width, policy);
  for (size_t rank = 0; rank < out.processors.size(); ++rank) {
    for (int unit : chosen[rank])
      for (int cpu : processors_of(all[static_cast<size_t>(unit)].get())) out.processors[rank].push_back(cpu);
    std::ranges::sort(out.processors[rank]);
    std::vector<int>& mine = out.processors[rank];
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
  }
  return out;
}

std::string Topology::describe(const std::vector<int>& processors) const {
  if (processors.empty()) return "not bound";
  const Set set(hwloc_bitmap_alloc());
  for (int cpu : processors) hwloc_bitmap_set(set.get(), cpu);
  std::ostringstream text;
  const hwloc_topology_t t = topology_.get();
  int cores = 0;
  for (int i = 0; i < hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE); ++i) {
    const hwloc_obj_t core = hwloc_get_obj_by_type(t, HWLOC_OBJ_CORE, static_cast<unsigned>(i));
    if (!hwloc_bitmap_intersects(core->cpuset, set.get())) continue;
    text << (cores++ ? "," : "core ") << i;
  }
  const hwloc_obj_t socket =
      hwloc_get_next_obj_covering_cpuset_by_type(t, set.get(), HWLOC_OBJ_PACKAGE, nullptr);
  if (socket) text << " of socket " << socket->logical_index;
  char* list = nullptr;
  if (hwloc_bitmap_list_asprintf(&list, set.get()) >= 0) {
    text << " (processors " << list << ")";
    ::free(list);
  }
  return text.str();
}

namespace {

// The object of that type that covers these processors alone; -1: none does. Of what there is only one, that one.
int object_of(hwloc_topology_t t, hwloc_obj_type_t type, const std::vector<int>& processors) {
  if (hwloc_get_nbobjs_by_type(t, type) == 1) return 0;
  if (processors.empty()) return -1;
  const std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> set(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  for (int cpu : processors) hwloc_bitmap_set(set.get(), static_cast<unsigned>(cpu));
  for (hwloc_obj_t o = hwloc_get_next_obj_by_type(t, type, nullptr); o; o = hwloc_get_next_obj_by_type(t, type, o))
    if (hwloc_bitmap_isincluded(set.get(), o->cpuset)) return static_cast<int>(o->logical_index);
  return -1;
}

}  // namespace

int Topology::socket_of(const std::vector<int>& processors) const {
  return object_of(topology_.get(), HWLOC_OBJ_PACKAGE, processors);
}

std::string Topology::place_of(const std::vector<int>& processors) const {
  std::string text;
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_NUMANODE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE}) {
    const int object = object_of(topology_.get(), type, processors);
    text += (text.empty() ? "" : ".") + (object < 0 ? "-" : std::to_string(object));
  }
  return text;
}

std::string Topology::summary() const {
  const hwloc_topology_t t = topology_.get();
  const auto counted = [](int count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  return fmt::format("{} of {} ({}), {}, {}", allowed_cores_,
                     counted(hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE), "core"),
                     counted(allowed_threads(), "hardware thread"),
                     counted(hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PACKAGE), "socket"),
                     counted(hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE), "NUMA node"));
}

}  // namespace tutti::launcher
