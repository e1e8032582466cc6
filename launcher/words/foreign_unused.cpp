// SPDX-License-Identifier: BSD-3-Clause
// Options of other launchers that mean nothing here. Three ways: what they ask for is so in any case, or cannot matter here
// (accepted); the job is the same without them, but their user wanted to see or tune something (noted: a line says so); the
// job would be another one (refused: a sentence says what to type).
#include "launcher/words/foreign_options.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

constexpr std::string_view kNetworks =
    "networks are chosen by themselves; -x UCX_TLS=… and -x UCX_NET_DEVICES=… narrow them";
constexpr std::string_view kBatch = "ask salloc or sbatch for it, and type mpirun within their allocation";
constexpr std::string_view kSets =
    "resource sets are jsrun's; type -n RANKS, --cpus-per-rank N, --gpus-per-rank N and -N RANKS";
constexpr std::string_view kTrace = "type -x LD_PRELOAD=LIBRARY with a tool that was built for the standard's ABI";

// PRRTE's words for how a job behaves.
Error take_runtime_options(Parse& p, std::string_view value) {
  for (const std::string& word : parts(value, ','))
    if (word == "donotlaunch")
      p.run.dry_run = true;
    else
      p.run.notes.push_back(
          fmt::format("{} {} changes nothing: it is a word of Open MPI's; type --timeout, --dry-run or "
                      "--stop-on-start for what these do",
                      p.option, word));
  return {};
}

Error go_on_without_failed(Parse& p, std::string_view) {
  p.run.settings.push_back({"failure.action", "continue", p.option});
  return {};
}

Error take_fault_tolerance(Parse& p, std::string_view value) {
  if (value == "none" || value == "no") return {};
  if (value == "ulfm" || value == "mpi") return go_on_without_failed(p, value);
  return bad_value(p, value, "ulfm, mpi or no");
}

std::vector<Option> accepted_options() {
  // clang-format off
  return {
      {{"personality"}, "NAME", "", accepted, "O", "accepted; there is one", "ompi"},
      {{"novm", "hetero-nodes", "hetero-apps", "do-not-resolve", "noprefix", "leave-session-attached", "no-ready-msg", "use-regexp"},
       "", "", accepted, "O", "accepted; each job starts its own daemons, by the names as they are written, and looks at each node"},
      {{"disable-recovery", "abort-on-failure"}, "", "", accepted, "OA", "accepted; a rank that fails ends the job"},
      {{"with-ft"}, "WHAT", "", take_fault_tolerance, "O", "ulfm or mpi: as --on-failure continue; no or none: a rank that fails ends the job", "none"},
      {{"enable-recovery", "disable-auto-cleanup"}, "", "", go_on_without_failed, "OM", "as --on-failure continue"},
      {{"report-state-on-timeout", "get-stack-traces"},
       "", "", accepted, "O", "accepted; --timeout prints what each rank is doing before it ends the job"},
      {{"server-wait-time", "forward-signals"},
       "WHAT", "", accepted, "O", "accepted; SIGUSR1, SIGUSR2, SIGTSTP and SIGCONT are passed on to the ranks in any case", "10"},
      {{"disable-hostname-propagation", "cleanup", "noconf", "localroot", "ordered-output", "print-all-exitcodes"},
       "", "", accepted, "M", "accepted; lines stay whole, and the rank that fails is told with its exit code"},
      {{"line-buffer", "no-vni", "no-transfer"}, "", "", accepted, "A", "accepted; lines stay whole, and programs are where they are"},
      {{"demux", "topolib", "pmi-connect", "pmi-port", "hostos", "rlimits"}, "NAME", "", accepted, "M", "accepted; there is one way", "poll"},
      {{"mpi"}, "NAME", "", accepted, "S", "accepted; ranks find each other by PMIx", "pmix"},
      {{"overlap", "exact", "whole", "contiguous", "disable-status", "X", "preserve-env", "E", "use-min-nodes", "quit-on-interrupt"},
       "", "", accepted, "S", "accepted; mpirun shares the allocation with what else runs in it, and takes nothing from it for itself"},
      {{"exclusive", "resv-ports", "propagate"},
       "[WHAT]", "", accepted, "S", "accepted; jobs of one user take different cores while there are enough, and limits are the user's",
       "user", 0},
      {{"job-name", "J", "comment", "wckey", "acctg-freq", "msg-timeout", "time-min"},
       "WHAT", "", accepted, "S", "accepted; it is the allocation's to have a name and an account", "x"},
      {{"mem", "mem-per-cpu", "mem-per-gpu"}, "SIZE", "", accepted, "S", "accepted; ranks have what memory the allocation has", "0"},
  };
}

std::vector<Option> noted_options() {
  return {
      {{"stream-buffering"}, "MODE", "", noted, "O",
       "whole lines are passed on as ranks write them; type stdbuf -oL before the program for one that writes seldom", "1"},
      {{"unbuffered", "u"}, "", "", noted, "S", "whole lines are passed on as ranks write them"},
      {{"display-comm", "display-comm-finalize", "prot"}, "", "", noted, "OM",
       "-x UCX_LOG_LEVEL=info lets each rank tell its networks"},
      {{"report-uri"}, "FILE", "", noted, "O",
       "there is no server to connect to; 'tutti jobs' and 'tutti why' find jobs, --report-pid the process", "-"},
      {{"report-child-jobs-separately", "show-progress"}, "", "", noted, "OM", "-v says what the launcher does"},
      {{"report-events"}, "URI", "", noted, "O", "-v says what the launcher does", "uri"},
      {{"debug-daemons-file"}, "", "", noted, "O", "-v says what daemons do"},
      {{"output-proctable"}, "[FILE]", "", noted, "O", "'tutti why' says where ranks run", "-", 0},
      {{"gpu-support"}, "WHAT", "", noted, "O", "messages are of the main memory", "1"},
      {{"localhost"}, "NAME", "", noted, "M", "daemons try all addresses of this machine", "here"},
      {{"ib", "IB", "rdma", "RDMA", "dapl", "DAPL", "psm", "PSM", "psm2", "PSM2", "mx", "MX", "tmi", "TMI", "ofi", "OFI", "ofa",
        "TCP", "IBV"},
       "", "", noted, "M", kNetworks},
      {{"network"}, "WHAT", "", noted, "S", kNetworks, "x"},
      {{"membind", "mem-bind", "mem_bind"}, "WHAT", "", noted, "MS",
       "memory is of the node that touches it first, near the cores that --bind-to gives; type numactl before the program", "local"},
      {{"cpu-freq", "cores-per-socket", "sockets-per-node", "extra-node-info", "B", "core-spec", "signal"}, "WHAT", "", noted, "S",
       "it is asked of salloc or sbatch", "1"},
      {{"gpus", "G", "gpus-per-node", "gpus-per-socket", "gres", "tres-per-task", "accel-bind"}, "WHAT", "", noted, "S",
       "ranks see all GPUs of their node's allocation; --gpus-per-rank N gives each its own", "2"},
      {{"wait", "W"}, "SECONDS", "", noted, "S", "a job goes on while ranks do that have not failed; --timeout ends it", "0"},
      {{"compress"}, "[WHAT]", "", noted, "S", "--bcast copies programs as they are", "lz4", 0},
      {{"runtime-options", "rtos"}, "WORDS", "", take_runtime_options, "O",
       "donotlaunch as --dry-run; of the others a line says that they change nothing", "donotlaunch"},
  };
}

std::vector<Option> refused_options() {
  return {
      {{"max-restarts", "continuous", "no-kill", "no-abort-on-failure"}, "", "", refused, "OSA",
       "a rank that fails ends the job, and is not started anew; a program that handles failures is started by --on-failure continue"},
      {{"launch-agent"}, "COMMAND", "", refused, "O",
       "other nodes start the daemon of this installation; --set launch.rsh=COMMAND is the way to them", "orted"},
      {{"aborted"}, "N", "", refused, "O", "a rank that fails ends the job", "1"},
      {{"order-nodes"}, "HOW", "", refused, "M", "nodes are used in the order in which --host or --hostfile names them", "ascending"},
      {{"trace", "trace-pt2pt", "trace-collectives", "trace-imbalance", "aps", "mps"}, "", "", refused, "M", kTrace},
      {{"gtool", "gtoolfile"}, "TOOL", "", refused, "M",
       "type the tool before the program: mpirun -n 1 TOOL ./program : -n 3 ./program, or --gdb for a debugger of each rank", "gdb:0"},
      {{"binding"}, "WHAT", "", refused, "M", "type --bind-to WHAT and --map-by HOW", "pin=yes"},
      {{"prepend-pattern"}, "TEXT", "", refused, "M", "type --tag-output", "%r"},
      {{"umask"}, "MASK", "", refused, "M", "type umask in the shell before mpirun; ranks have that of mpirun", "022"},
      {{"tmpdir"}, "FOLDER", "", refused, "OM", "type TMPDIR=FOLDER before mpirun", "/tmp"},
      {{"set-cwd-to-session-dir", "set-sandbox"}, "", "", refused, "O", "type --wdir FOLDER"},
      {{"index-argv-by-rank"}, "", "", refused, "O", "PMIX_RANK tells a program its rank before MPI_Init"},
      {{"ompi-server", "dvm", "dvm-uri", "wait-for-server", "system-server-only", "system-server-first", "nameserver"},
       "WHERE", "", refused, "OM", "each mpirun starts its own daemons; jobs of a user find each other by MPI_Publish_name without a server",
       "uri"},
      {{"add-host", "add-hostfile"}, "WHAT", "", refused, "O", "type all nodes of the job in --host or --hostfile", "a"},
      {{"ckpoint", "ckpointlib", "ckpoint-prefix", "ckpoint-interval", "restart"}, "WHAT", "", refused, "M",
       "no state of a job is saved; let the program write its own", "blcr"},
      {{"soft"}, "NUMBERS", "", refused, "M", "type -n N with one number", "1:4"},
      {{"arch", "file"}, "WHAT", "", refused, "M", "nodes are named by --host or --hostfile, programs by --app", "x"},
      {{"smpiargs"}, "WORDS", "", refused, "J", "type --set NAME=VALUE; 'tutti info --config' lists settings", "x"},
      {{"nrs", "a", "r", "g", "tasks_per_rs", "rs_per_host", "cpu_per_rs", "gpu_per_rs"}, "N", "", refused, "J", kSets, "1"},
      {{"d", "b"}, "WHAT", "", refused, "A",
       "type --cpus-per-rank N for aprun's -d, --verbose or --gdb for another launcher's; -b is not needed", "4"},
      {{"j", "S", "ss"}, "N", "", refused, "A", "type --use-hwthread-cpus for aprun's -j 2, --map-by ppr:N:numa for its -S N", "2"},
      {{"ilp64"}, "", "", refused, "M", "the library's INTEGER has 4 bytes, as the standard's ABI says"},
      {{"ntasks-per-gpu"}, "N", "", refused, "S", "type --map-by gpu, or --gpus-per-rank N", "1"},
      {{"exclude"}, "NAMES", "", refused, "S", "name the nodes that are left by --host", "n1"},
      {{"relative"}, "N", "", refused, "S", "type --host +nN,…, which counts the nodes of the allocation", "1"},
      {{"o", "open-mode"}, "FILE", "", refused, "S", "type > FILE behind the command, or --output file=NAME:nocopy for a file of each rank",
       "f"},
      {{"error", "e"}, "FILE", "", refused, "S", "type 2> FILE behind the command (and -x NAME=VALUE for aprun's -e)", "f"},
      {{"input", "i"}, "FILE", "", refused, "S", "type < FILE behind the command, and --stdin all for all ranks", "f"},
      {{"pty"}, "", "", refused, "S", "rank 0 reads what is typed here, and no rank has a terminal"},
      {{"prolog", "epilog", "task-prolog", "task-epilog"}, "PROGRAM", "", refused, "S", "start a script that does what is before and behind",
       "x"},
      {{"nice"}, "[N]", "", refused, "S", "type nice before the program", "1", 0},
      {{"container", "container-image"}, "WHAT", "", refused, "S", "type apptainer exec IMAGE or podman run … before the program", "x"},
      {{"het-group"}, "NUMBERS", "", refused, "S", "all components take part; --host names the nodes of a program", "0"},
      {{"jobid", "partition", "p", "account", "A", "qos", "constraint", "C", "reservation", "licenses", "L", "begin", "dependency",
        "deadline", "clusters", "M", "mail-type", "mail-user", "switches", "tmp", "mincpus", "priority"},
       "WHAT", "", refused, "S", kBatch, "x"},
  };
  // clang-format on
}

}  // namespace

std::vector<Option> unused_options() {
  std::vector<Option> all = accepted_options();
  for (const auto& rows : {noted_options(), refused_options()}) all.insert(all.end(), rows.begin(), rows.end());
  return all;
}

}  // namespace tutti::launcher
