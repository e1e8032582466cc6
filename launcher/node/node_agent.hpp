// SPDX-License-Identifier: BSD-3-Clause
// A node's part of a job, in the launcher's process or in the daemon's: starts the node's ranks,
// carries their streams, sees them end, answers their PMIx questions. Decides nothing about the
// job: it reports, and does what it is told.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "launcher/data/node_contract.hpp"
#include "launcher/loop/reaper.hpp"
#include "launcher/node/address_tables.hpp"
#include "launcher/node/brought_files.hpp"
#include "launcher/node/cleanup.hpp"
#include "launcher/node/crash_question.hpp"
#include "launcher/node/memory_kills.hpp"
#include "launcher/node/node_streams.hpp"
#include "launcher/node/other_mpi.hpp"
#include "launcher/node/rank_places.hpp"
#include "launcher/node/spawn.hpp"
#include "launcher/pmix/pmix_server.hpp"

namespace tutti::launcher {

// What is left to start. Ranks are forked in slices of the loop, which hears signals, the job's
// time and its other nodes in between.
struct StartingRanks {
  std::vector<int> ranks;  // all of this node
  size_t next = 0;         // of `ranks`
  int failures = -1;       // the children's end of NodeAgent's
  Watch next_slice;
};

// Large: nine of its private functions are the answers to PMIx's server, and five of its fields are whom it serves.
class NodeAgent final : public Node, private PmixServer::Events {
 public:
  NodeAgent(Loop& loop, Reaper& reaper, Cleanup& cleanup, const Topology& topology, PmixServer& pmix, NodeEvents& job,
            int node);
  ~NodeAgent() override;

  void launch(const Common<NodeTask>& task, int node, std::span<const int> ranks) override;
  void signal_ranks(int signal) override;
  void finish(bool at_once) override;
  void give_input(const Common<std::string>& bytes) override { streams_.give_input(*bytes); }
  void give_file(const Common<FilePiece>& piece) override { files_.give(piece->name, piece->bytes); }
  void output_taken(size_t bytes) override { streams_.output_taken(bytes); }
  void fence_done(const Common<FenceEnd>& end) override { pmix_.finish_fence(end->key, end->status, end->data); }
  void find_modex(uint64_t token, int rank) override {
    assume_on_loop();
    pmix_.find_modex(token, rank);
  }
  void modex_answer(uint64_t token, int status, const std::string& data) override {
    pmix_.finish_modex(token, status, data);
  }
  void take_addresses(const Common<Addresses>& piece) override { addresses_.take(task_, *piece); }
  void deliver_event(const std::string& packed) override { pmix_.deliver_event(packed); }
  void ranks_failed(const std::vector<int>& ranks, const std::string& why) override;
  void reply(uint64_t number, const Reply& reply) override { pmix_.reply(number, reply); }
  void learn(const Common<NodeTask>& kin) override;
  void look(Question question) override;
  void call() override { job_.answered(task_.node); }
  bool is_finished() const { return ending_.over; }

 private:
  struct Rank {
    int rank = 0;
    int pid = -1;  // also its process group; -1 when that is empty
    bool alive = false, connected = false, finalized = false;
    std::shared_ptr<const std::atomic<bool>> begun;  // its program
  };

  // What is looked for while the ranks run.
  struct Lookouts {
    Watch late_starts;
    std::optional<OtherMpiLook> other_mpi;
    std::optional<MemoryKills> memory_kills;  // since the ranks began
    std::optional<CrashQuestion> crash;
  };
  struct Ending {
    bool begun = false, at_once = false, over = false;
    std::chrono::steady_clock::time_point kill_at;
    Watch timer;
  };

  // node_agent.cpp: the ranks' lives
  Error prepare_start() TUTTI_ON_LOOP;
  void start_slice();
  void give_up_launch(int exit_code, const std::string& sentence);
  void stop_starting();                        // the ranks that were not reached yet count as ended
  Error start_rank(Rank& rank, size_t index);  // of those of this node
  std::vector<std::string> environment_of(const Rank& rank, std::vector<std::string> pmix) const;
  void read_failures();
  void ended(Rank& rank, int wait_status, int64_t peak);
  void tell_crash(int rank);
  void tell_failure(const Rank& rank, int wait_status);
  Rank* find(int rank);
  bool has_told_all() const;
  bool leftovers(int signal);  // sends it to what ranks left behind; false: nothing is left
  void finish_step();
  // What ranks ask and say by PMIx.
  void client_connected(int rank) override;
  void client_finalized(int rank) override;
  void client_waits(int rank) override;
  void asked(uint64_t number, const Ask& ask) override { job_.asked(task_.node, number, ask); }
  void spawn_doubted(int rank, const std::string& why) override;
  void client_aborted(int rank, int code, const std::string& text) override;
  void fence_reached(const std::string& key, const std::string& data, const std::string& published) override {
    job_.fence(task_.node, key, data, addresses_.own(task_, published));
  }
  void modex_needed(uint64_t token, int rank, const std::string& table_of) override {
    addresses_.needed(task_, token, rank, table_of);
  }
  void modex_ready(uint64_t token, int status, const std::string& data) override {
    job_.modex_found(task_.node, token, status, data);
  }
  void event_raised(const std::string& packed) override { job_.event(task_.node, packed); }

  // node_programs.cpp: what they run
  std::optional<std::string> program_of_another_mpi();
  void look_for_another_mpi();
  std::string why_not_begun(const SpawnFailure& failure) const;
  void tell_late_starts();
  std::string cause_of_end(int pid, int wait_status, int64_t peak);

  Loop& loop_;
  Reaper& reaper_;
  Cleanup& cleanup_;
  PmixServer& pmix_;
  NodeEvents& job_;
  NodeTask task_;
  RankPlaces places_;
  BroughtFiles files_;
  NodeStreams streams_;
  AddressTables addresses_;
  std::string allocation_;  // for the ranks
  std::map<int, std::unique_ptr<Rank>> ranks_;
  std::optional<StartingRanks> starting_;
  int failures_ = -1;  // what children write when they cannot execute
  Watch failures_watch_;
  bool launch_failed_ = false;
  bool ends_ranks_ = false, kills_ranks_ = false;  // it has sent them SIGTERM or SIGKILL; SIGKILL
  Lookouts lookouts_;
  Ending ending_;
};

}  // namespace tutti::launcher
