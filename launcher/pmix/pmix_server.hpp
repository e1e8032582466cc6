// SPDX-License-Identifier: BSD-3-Clause
// The PMIx server of a node, embedded: the only user of the PMIx library in the launcher. The
// library calls us on a thread of its own; everything is handed to the loop before it acts. What a
// node cannot answer alone (fences over several nodes, another node's modex data, events) goes up
// through the Events and comes back by name.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "launcher/data/job_map.hpp"
#include "launcher/data/kin.hpp"
#include "launcher/loop/loop.hpp"
#include "launcher/loop/on_loop.hpp"

namespace tutti::launcher {

struct ToolServices;

// What a client may claim to be let in: this process's own, and nobody's whom it starts. A server of PMIx below that does
// not ask the kernel whose a connection is would let in who claims nothing.
inline constexpr const char *kSecurityVariable = "PMIX_MCA_psec", *kAlsoNone = "munge,native,none";

class PmixServer {
 public:
  static std::string library_name();  // "PMIx 4.2.2"

  // Called on the loop's thread.
  class Events {
   public:
    virtual ~Events() = default;
    virtual void client_connected(int rank) = 0;
    virtual void client_finalized(int rank) = 0;
    virtual void client_waits(int rank) = 0;  // in MPI_Init, for others who do not come
    virtual void client_aborted(int rank, int code, const std::string& text) = 0;
    // `published`: the key of the addresses that the ranks have published for this fence; empty: none.
    virtual void fence_reached(const std::string& key, const std::string& data, const std::string& published) = 0;
    // `table_of`: the key of the addresses of which a table is wanted (base/address_key.hpp); empty: it is something
    // else, of that rank.
    virtual void modex_needed(uint64_t token, int rank, const std::string& table_of) = 0;
    virtual void modex_ready(uint64_t token, int status, const std::string& data) = 0;
    virtual void event_raised(const std::string& packed) = 0;
    // Beyond the job: answered by reply().
    virtual void asked(uint64_t number, const Ask& ask) = 0;
    // It asks for more processes, and not for what can be done.
    virtual void spawn_doubted(int rank, const std::string& why) = 0;
  };

  // One in a process. `node_name` as the job's map has it; files stay inside `folder`.
  static Result<std::unique_ptr<PmixServer>> start(const std::string& folder, const std::string& node_name,
                                                   const Topology& topology, ToolServices* for_tools = nullptr,
                                                   bool survives = false);
  ~PmixServer();

  void attach(Loop& loop, Events& events) TUTTI_ON_LOOP;
  Error register_job(const NodeTask& task, const Topology::Binding& binding) TUTTI_ON_LOOP;
  // The variables by which a rank finds this server.
  Result<std::vector<std::string>> variables_of(int rank);

  void finish_fence(const std::string& key, int status, const std::string& data);
  // What a rank of this node has published for all under that key; empty: it is gone, or has not.
  std::string published_by(int rank, const std::string& key) const;
  void find_modex(uint64_t token, int rank) TUTTI_ON_LOOP;  // answered by modex_ready
  void finish_modex(uint64_t token, int status, const std::string& data);
  void deliver_event(const std::string& packed);
  // That a rank of this node has failed is an event for the others here, and by event_raised() for those elsewhere.
  void tell_failure(int rank, const std::string& why) TUTTI_ON_LOOP;
  void hear_failure(int rank, const std::string& why);  // the same for those here, of a rank of another node
  void reply(uint64_t number, const Reply& reply);
  // A job of other servers, which ranks of this one may come to talk to.
  Error learn(NodeTask kin);

 private:
  struct Upcalls;
  struct Pending;
  PmixServer();
  std::unique_ptr<Pending> pending_;
  std::string folder_, node_name_;
  ToolServices* for_tools_ = nullptr;
};

}  // namespace tutti::launcher
