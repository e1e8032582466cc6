// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/topology.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/cgroup.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

constexpr std::string_view kBindNames[] = {"auto", "none",    "hwthread", "core",
                                          "l3cache", "numa", "socket"};

hwloc_obj_type_t type_of(BindTo to) {
  switch (to) {
    case BindTo::hwthread:
      return HWLOC_OBJ_PU;
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
  std::vector<Gpu> out;
  for (hwloc_obj_t at = nullptr; (at = hwloc_get_next_pcidev(topology, at)) != nullptr;) {
    const auto& device = at->attr->pcidev;
    const unsigned kind = device.class_id >> 8;
    if ((kind != kDisplay && kind != kAccelerator) ||
        (device.vendor_id != kNvidia && device.vendor_id != kAmd))
      continue;
    Gpu& gpu = out.emplace_back();
    gpu.maker = device.vendor_id == kNvidia ? Gpu::Maker::nvidia : Gpu::Maker::amd;
    const hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, at);
    int cpu;
    hwloc_bitmap_foreach_begin(cpu, near->cpuset) gpu.processors.push_back(cpu);
    hwloc_bitmap_foreach_end();
  }
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
  return failure(MPI_ERR_ARG, "--bind-to takes none, hwthread, core, l3cache, numa or socket, not '{}'", word);
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
  allowed_cores_ =
      std::max<int>(1, static_cast<int>(units(BindTo::core, MapPolicy::Inside::core).size()));
}

// The allowed part of each object to bind to, in the order in which ranks take them.
std::vector<Topology::Set> Topology::units(BindTo to, MapPolicy::Inside order) const {
  std::vector<std::vector<Set>> groups;  // by socket or NUMA node; one group when packed
  const hwloc_obj_type_t over = order == MapPolicy::Inside::socket    ? HWLOC_OBJ_PACKAGE
                                : order == MapPolicy::Inside::l3cache ? HWLOC_OBJ_L3CACHE
                                                                      : HWLOC_OBJ_NUMANODE;
  const hwloc_topology_t t = topology_.get();
  const int count = hwloc_get_nbobjs_by_type(t, type_of(to));
  for (int i = 0; i < count; ++i) {
    const hwloc_obj_t object = hwloc_get_obj_by_type(t, type_of(to), static_cast<unsigned>(i));
    Set part(hwloc_bitmap_dup(object->cpuset));
    hwloc_bitmap_and(part.get(), part.get(), allowed_.get());
    if (hwloc_bitmap_iszero(part.get())) continue;
    size_t group = 0;
    const int parents = order == MapPolicy::Inside::core ? 0 : hwloc_get_nbobjs_by_type(t, over);
    for (int p = 0; p < parents; ++p)
      if (hwloc_bitmap_intersects(hwloc_get_obj_by_type(t, over, static_cast<unsigned>(p))->cpuset,
                                  part.get()))
        group = static_cast<size_t>(p);
    if (groups.size() <= group) groups.resize(group + 1);
    groups[group].push_back(std::move(part));
  }
  std::vector<Set> out;
  for (size_t turn = 0, took = 1; took; ++turn) {
    took = 0;
    for (std::vector<Set>& group : groups) {
      const size_t end = groups.size() == 1 ? group.size() : std::min(group.size(), turn + 1);
      for (size_t i = turn; i < end; ++i, ++took) out.push_back(std::move(group[i]));
    }
    if (groups.size() == 1) break;
  }
  return out;
}

Topology::Binding Topology::bind(int ranks, BindTo to, const MapPolicy& policy) const {
  Binding out;
  out.to = to;
  if (to == BindTo::automatic)
    out.to = ranks * policy.cores_per_rank <= allowed_cores_ ? BindTo::core : BindTo::none;
  out.processors.resize(static_cast<size_t>(ranks));
  if (out.to == BindTo::none) return out;
  const std::vector<Set> all = units(out.to, policy.inside);
  if (all.empty()) {
    out.to = BindTo::none;
    return out;
  }
  const bool by_core = out.to == BindTo::core || out.to == BindTo::hwthread;
  const size_t width = by_core ? static_cast<size_t>(policy.cores_per_rank) : 1;
  for (size_t rank = 0; rank < out.processors.size(); ++rank) {
    for (size_t i = 0; i < std::min(width, all.size()); ++i) {
      int cpu;
      const hwloc_bitmap_t unit = all[(rank * width + i) % all.size()].get();
      hwloc_bitmap_foreach_begin(cpu, unit) out.processors[rank].push_back(cpu);
      hwloc_bitmap_foreach_end();
    }
    std::ranges::sort(out.processors[rank]);
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
  return fmt::format("{} of {} cores ({} hardware threads), {} sockets, {} NUMA nodes",
                     allowed_cores_, hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE), allowed_threads(),
                     hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PACKAGE),
                     hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE));
}

}  // namespace tutti::launcher
