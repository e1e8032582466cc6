// SPDX-License-Identifier: BSD-3-Clause
// What a user wants of a job, as plain data: what the command line said (words/options.hpp), before anybody has looked
// whether there are such hosts or programs.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/config.hpp"

namespace tutti::launcher {

// One program of the job; several stand between ':'.
struct AppOptions {
  std::optional<int> ranks;            // -n; absent: one for each slot
  std::vector<std::string> hosts;      // --host, each "name" or "name:slots"
  std::vector<std::string> variables;  // -x, each "NAME", "NAME=value" or "NAM*"
  std::string folder;                  // --wdir; empty: the current one
  std::vector<std::string> command;    // the program and its arguments
  bool by_ranks = false;               // --multi-prog: the program is a file of ranks and programs
};

// What ranks get of the environment of the command: what is not kept, but for the launcher's own.
struct Inheritance {
  bool all = true;
  std::vector<std::string> only;   // with all == false: these names, or beginnings with a '*'
  std::vector<std::string> unset;  // and not these
};

// What becomes of the ranks' output on its way: tags before lines, both streams in one, and copies in files.
struct OutputShape {
  bool tag = false, timestamp = false, merge = false;
  bool copy = true;    // to the terminal also what goes into files
  std::string folder;  // FOLDER/rank.N/stdout and stderr
  std::string file;    // a pattern: %r rank, %n node, %j job, %% a percent sign
};

struct RunOptions {
  std::vector<AppOptions> apps;
  std::string hostfile;
  std::string map_by, bind_to;  // empty: as set
  std::string rank_by;          // empty: as mapped
  std::string rankfile;         // with map_by "rankfile"
  std::string processors;       // --cpu-set
  bool hwthreads = false;       // --use-hwthread-cpus
  bool stop_on_start = false, gdb = false;
  bool preload_programs = false;
  std::vector<std::string> preload_files;
  std::vector<std::string> variables;  // of all programs, as -x of each
  std::vector<GivenSetting> settings;
  std::vector<std::string> process_sets;  // --pset, each "NAME=RANKS"
  std::string memory_kinds;               // --memory-alloc-kinds
  std::string initial_errhandler;         // --initial-errhandler
  std::chrono::nanoseconds timeout{0};    // 0: none
  std::string timeout_by;                 // what it was given by, and how: "--timeout 60"
  bool report_bindings = false;
  OutputShape output;
  Inheritance inherit;
  std::optional<int> input_rank = 0;  // absent: no rank reads standard input; kEveryRank: all do
  std::vector<std::string> display;   // map, bindings, allocation, topology
  bool parseable = false;             // what --display prints is for programs
  bool dry_run = false;
  bool nooversubscribe = false;
  bool other_nodes_only = false;             // --nolocal
  std::optional<std::pair<int, int>> nodes;  // --nodes: at least and at most so many of them
  std::string start_by;                      // --launcher, where it names a scheduler, or fork for this machine alone
  std::string process_id_file;               // --report-pid: a file, - or +
  bool oversubscribe = false;                // more ranks than cores are what is wanted
  int gpus_per_rank = 0;                     // 0: nothing is said of GPUs
  std::vector<std::string> notes;            // on what was taken and changes nothing
  bool help = false, version = false, info = false;
  std::string help_topic;
};

}  // namespace tutti::launcher
