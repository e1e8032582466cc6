// SPDX-License-Identifier: BSD-3-Clause
// A node's part of a job, in the launcher's process or in the daemon's: starts the node's ranks,
// carries their streams, sees them end, answers their PMIx questions. Decides nothing about the
// job: it reports, and does what it is told.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "launcher/data/node_contract.hpp"
#include "launcher/loop/lines.hpp"
#include "launcher/loop/reaper.hpp"
#include "launcher/node/cleanup.hpp"
#include "launcher/node/crash_question.hpp"
#include "launcher/node/memory_kills.hpp"
#include "launcher/node/other_mpi.hpp"
#include "launcher/node/spawn.hpp"
#include "launcher/place/gpus.hpp"
#include "launcher/pmix/pmix_server.hpp"

namespace tutti::launcher {

// What is left to start. Ranks are forked in slices of the loop, which hears signals, the job's
// time and its other nodes in between.
struct StartingRanks {
  std::vector<int> ranks;  // all of this node
  Topology::Binding binding;
  std::vector<Gpu> gpus;                    // of the node, where ranks are given some
  std::vector<std::vector<int>> rank_gpus;  // of each of `ranks`
  std::vector<std::string> socket_ranks;    // of each rank, those on its socket; empty: it has none
  std::string no_lock;                      // claim_processors()
  std::string places;                       // kNodePlacesVariable of all; empty: nothing tells any two apart
  size_t next = 0;                          // of `ranks`
  int failures = -1;                        // the children's end of failures_
  Watch next_slice;
};

class NodeAgent final : public Node, private PmixServer::Events {
 public:
  NodeAgent(Loop& loop, Reaper& reaper, Cleanup& cleanup, const Topology& topology, PmixServer& pmix, NodeEvents& job,
            int node);
  ~NodeAgent() override;

  void launch(NodeTask task) override;
  void signal_ranks(int signal) override;
  void finish(bool at_once) override;
  void give_input(std::string bytes) override;
  void give_file(const std::string& name, const std::string& bytes) override;
  void output_taken(size_t bytes) override;
  void fence_done(const std::string& key, int status, const std::string& data) override;
  void find_modex(uint64_t token, int rank) override;
  void modex_answer(uint64_t token, int status, const std::string& data) override;
  void take_addresses(const Addresses& addresses) override;
  void deliver_event(const std::string& packed) override;
  void look(Question question) override;
  void call() override { job_.answered(task_.node); }
  bool is_finished() const { return finished_; }

 private:
  struct Pipe {
    int fd = -1;
    Watch watch;
    LineKeeper lines;
  };
  struct Rank {
    int rank = 0;
    int pid = -1;  // also its process group; -1 when that is empty
    bool alive = false, connected = false, finalized = false;
    std::shared_ptr<const std::atomic<bool>> begun;  // its program
    Pipe streams[2];                                 // out, err
  };

  // Standard input of one rank, or of each that is to read the same.
  struct Input {
    int fd = -1;
    Watch watch;
    std::string bytes;
  };

  // node_agent.cpp: the ranks' lives
  Error prepare_start();
  Error narrow_topology();
  Error bind_ranks();
  const Topology& topology() const { return narrowed_ ? *narrowed_ : topology_; }
  void find_socket_ranks();
  void start_slice();
  void give_up_launch(int exit_code, const std::string& sentence);
  void stop_starting();  // the ranks that were not reached yet count as ended
  Error start_rank(Rank& rank, const std::vector<int>& processors);
  std::vector<std::string> environment_of(const Rank& rank, std::vector<std::string> pmix) const;
  void report_bindings(const std::vector<int>& ranks, const Topology::Binding& binding);
  void read_failures();
  void ended(Rank& rank, int wait_status, int64_t peak);
  void tell_crash(int rank);
  bool has_told_all() const;
  bool leftovers(int signal);  // sends it to what ranks left behind; false: nothing is left
  void finish_step();
  void client_connected(int rank) override;
  void client_finalized(int rank) override;
  void client_waits(int rank) override;
  void client_spawns(int rank) override;
  void client_aborted(int rank, int code, const std::string& text) override;
  void fence_reached(const std::string& key, const std::string& data, const std::string& published) override;
  void modex_needed(uint64_t token, int rank, const std::string& table_of) override;
  void modex_ready(uint64_t token, int status, const std::string& data) override;
  void event_raised(const std::string& packed) override;
  Rank* find(int rank);

  // node_programs.cpp: what they run
  static void settle_folder(App& app);
  Error place_files();
  Program program_of(const App& app, const std::string& search) const;
  std::optional<std::string> program_of_another_mpi();
  void look_for_another_mpi();
  std::string why_not_begun(const SpawnFailure& failure) const;
  void tell_late_starts();
  std::string cause_of_end(int pid, int wait_status, int64_t peak);

  // node_streams.cpp: their standard streams
  void open_streams(Rank& rank, const Child& child);
  void watch_stream(Rank& rank, int index);
  bool read_stream(Rank& rank, int index);  // false: nothing more now
  void drain(Rank& rank);
  void send_output(int rank, int index, std::string bytes);
  bool streams_closed() const;
  void flush_input(Input& input);
  void want_input();

  // node_addresses.cpp: those of all ranks, given once and told once
  std::map<std::string, std::vector<uint64_t>> table_questions_;  // that wait, by the key of the addresses
  std::set<std::string> tables_;  // that are written, or do not come: by the key of the addresses

  Loop& loop_;
  Reaper& reaper_;
  Cleanup& cleanup_;
  const Topology& topology_;
  PmixServer& pmix_;
  NodeEvents& job_;
  NodeTask task_;
  std::optional<Topology> narrowed_;  // by --cpu-set, or with its GPUs
  std::string allocation_;            // for the ranks
  std::map<int, std::unique_ptr<Rank>> ranks_;

  std::optional<StartingRanks> starting_;
  int failures_ = -1;  // what children write when they cannot execute
  Watch failures_watch_;
  Watch late_starts_;
  std::optional<MemoryKills> memory_kills_;  // since the ranks began
  bool ends_ranks_ = false;                  // by SIGKILL
  bool launch_failed_ = false;
  std::optional<CrashQuestion> crash_;

  std::optional<OtherMpiLook> other_mpi_;

  std::vector<std::unique_ptr<Input>> inputs_;
  bool input_ended_ = false, input_asked_ = false;
  std::string file_problem_;               // of a file that was to come before the launch
  std::vector<std::string> placed_files_;  // in folders of ranks, to be removed

  size_t output_waiting_ = 0;  // sent to the job and not yet taken
  bool paused_ = false;

  bool finishing_ = false, failed_ = false, finished_ = false;
  std::chrono::steady_clock::time_point kill_at_;
  Watch finish_timer_;
};

}  // namespace tutti::launcher
