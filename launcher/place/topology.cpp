// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/place/topology.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <tuple>

#include "base/log.hpp"
#include "base/os/cgroup.hpp"
#include "launcher/place/hwloc_version.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

constexpr std::string_view kBindNames[] = {"auto", "none", "hwthread", "core", "l2cache", "l3cache", "numa", "socket"};

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
    if ((kind != kDisplay && kind != kAccelerator) || (device.vendor_id != kNvidia && device.vendor_id != kAmd))
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
  right = (!file || hwloc_topology_set_xml(topology, file) == 0) && hwloc_topology_load(topology) == 0;
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
  if (hwloc_topology_load(topology) != 0) return failure(MPI_ERR_OTHER, "hwloc cannot read this machine's topology");
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
  if (hwloc_topology_set_synthetic(topology, description.c_str()) != 0 || hwloc_topology_load(topology) != 0)
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

namespace {
std::string words_of(unsigned version) {
  return fmt::format("{}.{}.{}", version >> 16, version >> 8 & 0xff, version & 0xff);
}
}  // namespace

std::string Topology::hwloc_name() {
  return "hwloc:" + words_of(hwloc_get_api_version());
}

std::string compiled_hwloc() {
  return words_of(HWLOC_API_VERSION);
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

std::vector<int> processors_of(hwloc_const_bitmap_t set) {
  std::vector<int> out;
  int cpu;
  hwloc_bitmap_foreach_begin(cpu, set) out.push_back(cpu);
  hwloc_bitmap_foreach_end();
  return out;
}

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
    hwloc_bitmap_or(
        set.get(), set.get(),
        hwloc_get_obj_inside_cpuset_by_type(t, root->cpuset, HWLOC_OBJ_CORE, static_cast<unsigned>(core))->cpuset);
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
    return failure(MPI_ERR_ARG, "--cpu-set takes numbers of processors such as 0,2-5, as taskset -c does, not '{}'",
                   list);
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
  const hwloc_obj_t socket = hwloc_get_next_obj_covering_cpuset_by_type(t, set.get(), HWLOC_OBJ_PACKAGE, nullptr);
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
  return fmt::format(
      "{} of {} ({}), {}, {}", allowed_cores_, counted(hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE), "core"),
      counted(allowed_threads(), "hardware thread"), counted(hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PACKAGE), "socket"),
      counted(hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE), "NUMA node"));
}

}  // namespace tutti::launcher
