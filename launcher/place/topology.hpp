// SPDX-License-Identifier: BSD-3-Clause
// A node's cores: which ones we may use (affinity, cpuset, cgroup quota), and which of them each
// rank is bound to. The only user of hwloc. bind() is a pure function of the topology, so tests
// bring other machines' ones.
#pragma once

#include <hwloc.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "launcher/place/placement.hpp"

namespace tutti::launcher {

enum class BindTo { automatic, none, hwthread, core, l2cache, l3cache, numa, socket };
Result<BindTo> parse_bind_to(std::string_view word);  // of --bind-to

// A GPU of this machine, in the order of PCI addresses, and the processors that are near it.
struct Gpu {
  enum class Maker { nvidia, amd } maker = Maker::nvidia;
  std::vector<int> processors;
};
// The processors near a device of this machine, such as "eth0" or "mlx5_0"; empty: it is near none more than others.
Result<std::vector<int>> processors_near(const std::string& device);
// The numbers in a set of hwloc's.
std::vector<int> processors_of(hwloc_const_bitmap_t set);
// "0,2-3" as numbers of the kernel's, for --cpu-set.
Result<std::vector<int>> processors_named(const std::string& list);
// Without a library of the maker: by what the kernel says of the devices on the PCI bus.
std::vector<Gpu> gpus_of_this_machine();
// The same of a topology that hwloc has written as XML.
Result<std::vector<Gpu>> gpus_of_xml(const std::string& file);

class Topology {
 public:
  static Result<Topology> of_this_machine();
  // From hwloc's synthetic notation ("package:2 core:4 pu:2"); all of it is allowed.
  static Result<Topology> synthetic(const std::string& description);
  // From a file that hwloc has written as XML (lstopo x.xml), with its GPUs; all of it is allowed.
  static Result<Topology> of_xml(const std::string& file);

  Topology copy() const;
  int allowed_cores() const { return allowed_cores_; }
  int allowed_threads() const;
  void restrict_to(const std::vector<int>& processors);  // as an affinity mask would
  void limit_cores(int quota);                           // as a cgroup's quota would
  NodeShape shape() const;
  // The processors that we may use; those of a rankfile's word such as "0,2-3" (cores) or "1:0-1" (of a socket).
  std::vector<int> allowed() const;
  Result<std::vector<int>> cores_named(std::string_view word) const;
  // For --map-by gpu.
  void set_gpus(std::vector<Gpu> gpus) { gpus_ = std::move(gpus); }
  const std::vector<Gpu>& gpus() const { return gpus_; }

  // For each local rank the processors that it is bound to; empty: not bound.
  struct Binding {
    std::vector<std::vector<int>> processors;
    BindTo to = BindTo::none;  // what was chosen for `automatic`
    bool crowded = false;      // they are not bound because others have the cores
  };
  // `taken`: processors that other jobs' ranks are bound to. Whole cores beside them are chosen where these are enough;
  // where they are not, `automatic` binds nobody.
  Binding bind(int ranks, BindTo to, const MapPolicy& policy, const std::vector<int>& taken = {}) const;
  std::string describe(const std::vector<int>& processors) const;  // "core 3 of socket 0"
  // The socket that these processors are on; the only one, if nothing is bound; -1: on none alone.
  int socket_of(const std::vector<int>& processors) const;
  // The socket, NUMA node, L3 and L2 cache that these processors are on: "0.0.1.4"; "-" for none alone.
  std::string place_of(const std::vector<int>& processors) const;
  std::string summary() const;  // "2 cores with 4 hardware threads, 1 socket"
  // For a library that would read the machine anew, and its version as PMIx tells such.
  hwloc_topology_t handle() const { return topology_.get(); }
  static std::string hwloc_name();  // "hwloc:2.9.0"

 private:
  struct Destroy {
    void operator()(hwloc_topology_t t) const { hwloc_topology_destroy(t); }
  };
  struct Free {
    void operator()(hwloc_bitmap_t b) const { hwloc_bitmap_free(b); }
  };
  using Set = std::unique_ptr<hwloc_bitmap_s, Free>;
  Topology() = default;
  void count_cores();
  std::vector<Set> objects(BindTo to) const;
  std::vector<Set> parts_of_node(MapPolicy::Inside part) const;
  std::vector<std::vector<int>> groups_of(const std::vector<Set>& units, MapPolicy::Inside part) const;
  std::vector<Set> units(BindTo to, const MapPolicy& policy) const;
  std::vector<std::vector<int>> places(int ranks, const std::vector<Set>& units, size_t width,
                                       const MapPolicy& policy) const;

  std::unique_ptr<hwloc_topology, Destroy> topology_;
  Set allowed_;
  int allowed_cores_ = 1;
  std::vector<Gpu> gpus_;
};

}  // namespace tutti::launcher
