// SPDX-License-Identifier: BSD-3-Clause
// The two directions between a job and its nodes. A node of the launcher's own process is called
// directly, another one through the wire; neither side can tell. All on the loop's thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "launcher/data/job_map.hpp"
#include "launcher/data/kin.hpp"
#include "launcher/data/parcel.hpp"
#include "launcher/data/rank_groups.hpp"
#include "launcher/data/rank_profile.hpp"
#include "launcher/data/rank_view.hpp"

namespace tutti::launcher {

enum class OutputStream { out = 1, err = 2 };

inline constexpr int kUntold = -1;

struct RankEnd {
  int rank = 0;
  int pid = 0;  // 0: it was never started; kUntold: it was, as one of many that have ended alike
  int wait_status = 0;
  bool connected = false;  // it had called PMIx_Init …
  bool finalized = false;  // … and PMIx_Finalize
  std::string cause;       // of an end by SIGKILL, where its node knows one; a part of a sentence
};

// What a rank has published as its address.
struct RankAddress {
  int rank = 0;
  std::string data;
};

// What ranks have published under one key: RankAddresses, packed one after the other. No key: nothing.
struct Addresses {
  std::string key, packed;
  bool more = false;  // of the same, in the next piece
};

// What is said of a fence when all have come to it.
struct FenceEnd {
  std::string key;
  int status = 0;
  std::string data;
};

struct FilePiece {
  std::string name, bytes;
};

// What a job asks of a node. What is Common is asked of all alike, or of many.
class Node {
 public:
  virtual ~Node() = default;
  // `node`: the index of this one; `ranks`: its own, ascending.
  virtual void launch(const Common<NodeTask>& task, int node, std::span<const int> ranks) = 0;
  virtual void signal_ranks(int signal) = 0;
  // Ends what ranks left behind (at once, or with the grace), delivers all output, says finished().
  virtual void finish(bool at_once) = 0;
  virtual void give_input(const Common<std::string>& bytes) = 0;  // for the rank that reads it, or all; empty: the end
  // Before launch(): a piece of a file that ranks shall find. The launcher's own node has it.
  virtual void give_file(const Common<FilePiece>& piece) = 0;
  virtual void output_taken(size_t bytes) = 0;  // room for as much again
  virtual void fence_done(const Common<FenceEnd>& end) = 0;
  virtual void find_modex(uint64_t token, int rank) = 0;
  virtual void modex_answer(uint64_t token, int status, const std::string& data) = 0;
  virtual void take_addresses(const Common<Addresses>& piece) = 0;  // of the ranks of all nodes
  virtual void deliver_event(const std::string& packed) = 0;
  // Ranks of another node, which has failed with them: that is an event for those here.
  virtual void ranks_failed(const std::vector<int>& ranks, const std::string& why) = 0;
  virtual void reply(uint64_t number, const Reply& reply) = 0;  // to what a rank has asked beyond the job
  virtual void learn(const Common<NodeTask>& kin) = 0;          // another job, which ranks may come to talk to
  virtual void look(Question question) = 0;                     // at what its ranks are doing: looked() or grouped()
  virtual void call() = 0;                                      // says answered(), as soon as it can
};

// What a node tells its job; `node` is its index in the map.
class NodeEvents {
 public:
  virtual ~NodeEvents() = default;
  virtual void launched(int node) = 0;
  virtual void launch_failed(int node, int exit_code, const std::string& sentence) = 0;
  virtual void rank_ended(int node, const RankEnd& end) = 0;
  virtual void rank_crashed(int node, int rank, const std::string& report) = 0;  // behind its end
  virtual void rank_waits(int node, int rank) = 0;  // in MPI_Init, for others who do not come
  virtual void rank_aborted(int node, int rank, int code, const std::string& text) = 0;
  virtual void output(int node, int rank, OutputStream stream, std::string bytes) = 0;
  virtual void note(int node, const std::string& line) = 0;  // a line of ours, such as a binding
  // Told once, whichever nodes say it.
  virtual void remark(int node, Level level, const std::string& line) = 0;
  virtual void input_wanted(int node) = 0;
  // `addresses`: of the node's ranks, where they have published them for this fence.
  virtual void fence(int node, const std::string& key, const std::string& data, const Addresses& addresses) = 0;
  virtual void modex_wanted(int node, uint64_t token, int rank) = 0;
  virtual void modex_found(int node, uint64_t token, int status, const std::string& data) = 0;
  // The first of its ranks asks for another node's: for all of them, at once.
  virtual void addresses_wanted(int node, const std::string& key) = 0;
  virtual void event(int node, const std::string& packed) = 0;
  virtual void asked(int node, uint64_t number, const Ask& ask) = 0;
  virtual void looked(int node, uint64_t number, std::vector<RankView> ranks) = 0;
  virtual void grouped(int node, uint64_t number, std::vector<RankGroup> groups) = 0;  // the same, where that is asked
  virtual void answered(int node) = 0;
  // What its ranks have left of their profiles; before finished(), where somebody profiles.
  virtual void profiled(int node, std::vector<RankProfile> ranks) = 0;
  virtual void finished(int node) = 0;
};

}  // namespace tutti::launcher
