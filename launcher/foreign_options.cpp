// SPDX-License-Identifier: BSD-3-Clause
// What users of Open MPI, MPICH and Slurm type: taken where it means something here, and otherwise
// refused with what to type instead.
#include <algorithm>
#include <charconv>

#include "launcher/job_map.hpp"
#include "launcher/option_table.hpp"
#include "launcher/placement.hpp"
#include "launcher/topology.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

Error accepted(Parse&, std::string_view) {
  return {};
}

Error refused(Parse& p, std::string_view) {
  return failure(MPI_ERR_ARG, "{} is not supported: {}", p.option, p.row->page);
}

std::optional<int> whole(std::string_view word, int least) {
  int value = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool right = problem == std::errc() && end == word.data() + word.size();
  return right && value >= least && value <= 1'000'000 ? std::optional(value) : std::nullopt;
}

std::vector<std::string> parts(std::string_view text, char at) {
  std::vector<std::string> out;
  for (;;) {
    const size_t end = std::min(text.find(at), text.size());
    if (end > 0) out.emplace_back(text.substr(0, end));
    if (end == text.size()) return out;
    text.remove_prefix(end + 1);
  }
}

// A word behind what --map-by says, or one that says it.
void map_also(Parse& p, std::string_view word) {
  if (p.run.map_by.empty()) p.run.map_by = "slot";
  p.run.map_by += fmt::format(":{}", word);
}

Error take_per_part(Parse& p, std::string_view value, std::string_view part) {
  const auto count = whole(value, 1);
  if (!count) return bad_value(p, value, fmt::format("a number of ranks for each {}", part));
  // What stood behind a mapping before, such as pe=2, still holds.
  const size_t colon = p.run.map_by.find(':');
  const std::string rest = p.run.map_by.starts_with("slot:") ? p.run.map_by.substr(colon) : "";
  p.run.map_by = fmt::format("ppr:{}:{}{}", *count, part, rest);
  return {};
}
Error take_per_socket(Parse& p, std::string_view value) {
  return take_per_part(p, value, "socket");
}
Error take_per_core(Parse& p, std::string_view value) {
  return take_per_part(p, value, "core");
}
Error take_per_node(Parse& p, std::string_view value) {
  return take_per_part(p, value, "node");
}

Error take_cores(Parse& p, std::string_view value) {
  const auto count = whole(value, 1);
  if (!count) return bad_value(p, value, "a number of cores for each rank");
  map_also(p, fmt::format("pe={}", *count));
  return {};
}

// -genv is for all programs, -env for the one that it stands before.
template <bool Global>
Error take_pair(Parse& p, std::string_view value) {
  if (value.empty() || value[0] == '=') return bad_value(p, value, "NAME VALUE");
  (Global ? p.run.variables : p.app.variables)
      .push_back(value.find('=') != value.npos ? std::string(value) : fmt::format("{}={}", value, p.second));
  return {};
}

Error take_names_only(Parse& p, std::string_view value) {
  p.run.inherit.all = false;
  for (std::string& name : parts(value, ',')) p.run.inherit.only.push_back(std::move(name));
  return {};
}

// Slurm's --export=ALL,NAME=VALUE,NAME or NONE.
Error take_export(Parse& p, std::string_view value) {
  p.run.inherit.all = false;
  for (std::string& name : parts(value, ',')) {
    if (name == "ALL") p.run.inherit.all = true;
    if (name == "ALL" || name == "NONE") continue;
    if (name.find('=') != name.npos)
      p.app.variables.push_back(std::move(name));
    else
      p.run.inherit.only.push_back(std::move(name));
  }
  return {};
}

Error take_output_word(Parse& p, const std::string& word) {
  OutputShape& shape = p.run.output;
  if (word == "tag" || word == "rank" || word == "tag-detailed" || word == "tag-fullname") {
    shape.tag = true;
  } else if (word == "timestamp") {
    shape.timestamp = true;
  } else if (word == "merge" || word == "merge-stderr-to-stdout") {
    shape.merge = true;
  } else if (word == "nocopy") {
    shape.copy = false;
  } else if (word == "copy") {
    shape.copy = true;
  } else if (word.starts_with("dir=") && word.size() > 4) {
    shape.folder = word.substr(4);
  } else if (word.starts_with("file=") && word.size() > 5) {
    shape.file = word.substr(5);
    return check_pattern(shape.file);
  } else {
    return bad_value(p, word, "tag, timestamp, merge, dir=FOLDER, file=NAME or nocopy");
  }
  return {};
}

Error take_output(Parse& p, std::string_view value) {
  for (const std::string& part : parts(value, ','))
    for (const std::string& word : parts(part, ':'))
      if (Error e = take_output_word(p, word)) return e;
  return {};
}

Error take_output_folder(Parse& p, std::string_view value) {
  if (value.ends_with(":nocopy")) {
    p.run.output.copy = false;
    value.remove_suffix(7);
  }
  p.run.output.folder = value;
  return {};
}

Error take_output_pattern(Parse& p, std::string_view value) {
  p.run.output.file = value;
  p.run.output.copy = false;
  return check_pattern(value);
}

Error take_input(Parse& p, std::string_view value) {
  const auto rank = whole(value, 0);
  if (!rank && value != "none" && value != "all")
    return bad_value(p, value, "all, none or the number of the rank that reads standard input");
  p.run.input_rank = value == "all" ? std::optional(kEveryRank) : rank;
  return {};
}

Error take_display(Parse& p, std::string_view value) {
  constexpr std::string_view known[] = {"map", "bindings", "allocation", "topology"};
  for (const std::string& part : parts(value, ','))
    for (const std::string& word : parts(part, ':')) {
      if (word == "parseable" || word == "parsable") {
        p.run.parseable = true;
        continue;
      }
      const std::string what = word == "bind" ? "bindings" : word == "alloc" ? "allocation" : word;
      if (!std::ranges::count(known, what))
        return bad_value(p, word, "map, bindings, allocation or topology, with :parseable");
      p.run.display.push_back(what);
    }
  return {};
}

template <int Word>
Error show(Parse& p, std::string_view) {
  p.run.display.emplace_back(Word == 0 ? "map" : "allocation");
  return {};
}

Error take_file(Parse& p, std::string_view value) {
  p.files.emplace_back(value);
  return {};
}

Error take_level(Parse& p, std::string_view level) {
  p.run.settings.push_back({"log.level", std::string(level), p.option});
  return {};
}

Error take_launcher(Parse& p, std::string_view value) {
  if (value == "slurm" || value == "srun" || value == "manual" || value == "fork")
    return failure(
        MPI_ERR_ARG,
        "{} {}: how nodes are reached is seen by itself (srun in an allocation of Slurm); "
        "name a command such as ssh to use that one",
        p.option, value);
  p.run.settings.push_back({"launch.rsh", std::string(value), p.option});
  return {};
}

Error take_interface(Parse& p, std::string_view value) {
  p.app.variables.push_back(fmt::format("UCX_NET_DEVICES={}", value));
  return {};
}

Error take_gpus(Parse& p, std::string_view value) {
  const auto count = whole(value, 1);
  if (!count || *count > 1024) return bad_value(p, value, "a number of GPUs for each rank");
  p.run.gpus_per_rank = *count;
  return {};
}

constexpr std::string_view kGoes = "accepted; it is so in any case";

std::vector<Option> placement_options() {
  return {
      {{"N", "npernode", "ppn", "perhost", "ntasks-per-node", "ranks-per-node"},
       "N",
       "this many ranks on each node",
       take_per_node,
       "OMS",
       "ranks on each node, as --map-by ppr:N:node (Slurm's -N counts nodes: --host names them "
       "here)",
       "2"},
      {{"npersocket", "ntasks-per-socket"},
       "N",
       "",
       take_per_socket,
       "OS",
       "ranks on each socket, as --map-by ppr:N:socket",
       "2"},
      {{"ntasks-per-core"}, "N", "", take_per_core, "S", "ranks on each core, as --map-by ppr:N:core", "1"},
      {{"cpus-per-rank", "cpus-per-proc", "cpus-per-task"},
       "N",
       "cores for each rank",
       take_cores,
       "OS",
       "cores for each rank, as --map-by slot:pe=N",
       "1"},
      {{"gpus-per-rank", "gpus-per-task"},
       "N",
       "give each rank N of its node's GPUs (CUDA_VISIBLE_DEVICES and the like)",
       take_gpus,
       "TS",
       "",
       "1"},
      {{"rr"},
       "",
       "",
       [](Parse& p, std::string_view) { return p.run.map_by = "node", Error(); },
       "M",
       "takes the nodes in turn, as --map-by node"},
      {{"bynode"},
       "",
       "",
       [](Parse& p, std::string_view) { return p.run.map_by = "node", Error(); },
       "O",
       "as --map-by node"},
      {{"byslot"},
       "",
       "",
       [](Parse& p, std::string_view) { return p.run.map_by = "slot", Error(); },
       "O",
       "as --map-by slot"},
      {{"bind-to-core"},
       "",
       "",
       [](Parse& p, std::string_view) { return p.run.bind_to = "core", Error(); },
       "O",
       "as --bind-to core"},
      {{"bind-to-none"},
       "",
       "",
       [](Parse& p, std::string_view) { return p.run.bind_to = "none", Error(); },
       "O",
       "as --bind-to none"},
      {{"rank-by"},
       "HOW",
       "number the ranks by slot, node, fill, span, core, l3cache, numa or socket",
       [](Parse& p, std::string_view v) {
         MapPolicy policy;
         if (Error e = take_rank_by(v, policy)) return e;
         return p.run.rank_by = v, Error();
       },
       "O",
       "how ranks are numbered once they have their places: slot, node after node; node, in turns over the nodes; "
       "fill, part after part of what --map-by names; span, in turns over these parts of all nodes; socket, numa, "
       "l3cache or core, in turns over those of each node; default: as they are placed",
       "slot"},
      {{"rankfile", "rf"},
       "FILE",
       "place each rank as a line 'rank 0=node1 slot=0-3' says",
       [](Parse& p, std::string_view v) {
         p.run.rankfile = v;
         return p.run.map_by = "rankfile", Error();
       },
       "O",
       "lines 'rank N=HOST slot=CORES', CORES as 0,2-3, or 1:0-1 for those of a socket; without slot= the rank is not "
       "bound; +n0 is the first host of the allocation",
       "f"},
      {{"cpu-list", "cpu-set"},
       "LIST",
       "use these processors of each node alone, such as 0,2-5",
       [](Parse& p, std::string_view v) {
         Result<std::vector<int>> right = processors_named(std::string(v));
         if (!right) return bad_value(p, v, "numbers of processors such as 0,2-5");
         return p.run.processors = v, Error();
       },
       "O",
       "the processors of each node that are used, as taskset -c counts them",
       "0"},
      {{"use-hwthread-cpus"},
       "",
       "count hardware threads in place of cores, and bind to them",
       [](Parse& p, std::string_view) { return p.run.hwthreads = true, Error(); },
       "O"},
      {{"oversubscribe"},
       "",
       "",
       accepted,
       "O",
       "accepted: more ranks than slots are allowed in any case"},
      {{"nooversubscribe"},
       "",
       "refuse more ranks than slots",
       [](Parse& p, std::string_view) { return p.run.nooversubscribe = true, Error(); },
       "O"},
      {{"hosts"},
       "NAME[:SLOTS],…",
       "",
       [](Parse& p, std::string_view v) {
         const Option* host = find_option("host");
         return host->take(p, v);
       },
       "M",
       "as --host",
       "localhost"},
      {{"nodelist", "w"},
       "NAMES",
       "",
       [](Parse& p, std::string_view v) {
         const Option* host = find_option("host");
         return host->take(p, v);
       },
       "S",
       "as --host, one name for each node and no brackets",
       "localhost"},
      {{"default-hostfile"}, "FILE", "", refused, "O", "type --hostfile FILE", "f"},
  };
}

std::vector<Option> environment_options() {
  return {
      {{"genv"}, "NAME VALUE", "", take_pair<true>, "M", "as -x NAME=VALUE before each program", "A b", 2},
      {{"env"}, "NAME VALUE", "", take_pair<false>, "M", "as -x NAME=VALUE", "A b", 2},
      {{"genvlist", "envlist"},
       "NAMES",
       "",
       take_names_only,
       "M",
       "of the environment of mpirun ranks get these variables alone",
       "PATH,HOME"},
      {{"genvall", "envall"},
       "",
       "",
       [](Parse& p, std::string_view) { return p.run.inherit = {}, Error(); },
       "M",
       "accepted; ranks get the whole environment of mpirun unless an option says otherwise"},
      {{"genvnone", "envnone"},
       "",
       "",
       [](Parse& p, std::string_view) { return p.run.inherit.all = false, Error(); },
       "M",
       "ranks get nothing of the environment of mpirun but what options name"},
      {{"export"},
       "LIST",
       "",
       take_export,
       "S",
       "ALL, NONE, and NAME or NAME=VALUE, divided by commas",
       "ALL,A=b"},
      {{"unset"},
       "NAME",
       "do not give the ranks this variable; 'NAM*' for all that begin so",
       [](Parse& p, std::string_view v) { return p.run.inherit.unset.emplace_back(v), Error(); },
       "O",
       "",
       "A"},
      {{"iface"}, "NAME", "", take_interface, "M", "gives the ranks UCX_NET_DEVICES=NAME", "eth0"},
      {{"chdir", "D"},
       "FOLDER",
       "",
       [](Parse& p, std::string_view v) { return p.app.folder = v, Error(); },
       "S",
       "as --wdir",
       "/tmp"},
      {{"path"}, "FOLDERS", "", refused, "O", "type -x PATH=…, or the program's whole path", "p"},
      {{"prefix"},
       "FOLDER",
       "",
       refused,
       "O",
       "Tutti is looked for on every node where mpirun is on this one",
       "p"},
  };
}

std::vector<Option> stream_options() {
  return {
      {{"output"},
       "HOW",
       "tag, timestamp, merge, dir=FOLDER, file=NAME (%r: rank, %n: node, %j: job), nocopy",
       take_output,
       "O",
       "",
       "tag,timestamp"},
      {{"output-filename"},
       "FOLDER",
       "",
       take_output_folder,
       "O",
       "as --output dir=FOLDER: FOLDER/rank.N/stdout and stderr",
       "out"},
      {{"outfile-pattern"},
       "NAME",
       "",
       take_output_pattern,
       "M",
       "as --output file=NAME:nocopy, with %r for the rank",
       "out.%r"},
      {{"errfile-pattern"},
       "NAME",
       "",
       refused,
       "M",
       "type --output file=NAME, which has NAME.err beside it",
       "e"},
      {{"timestamp-output"},
       "",
       "",
       [](Parse& p, std::string_view) { return p.run.output.timestamp = true, Error(); },
       "O",
       "as --output timestamp"},
      {{"merge-stderr-to-stdout"},
       "",
       "",
       [](Parse& p, std::string_view) { return p.run.output.merge = true, Error(); },
       "O",
       "as --output merge"},
      {{"stdin", "s"},
       "RANK",
       "the rank that reads standard input, all or none; default: 0",
       take_input,
       "OM",
       "",
       "none"},
      {{"xterm", "xml"},
       "WHAT",
       "",
       refused,
       "O",
       "type --output file=NAME for a file of each rank",
       "0"},
  };
}

std::vector<Option> other_options() {
  return {
      {{"display"},
       "WHAT",
       "print the map, bindings, allocation or topology; ':parseable' for programs",
       take_display,
       "O",
       "",
       "map"},
      {{"display-map", "display-devel-map"}, "", "", show<0>, "O", "as --display map"},
      {{"display-allocation"}, "", "", show<1>, "O", "as --display allocation"},
      {{"dry-run", "do-not-launch", "donotlaunch"},
       "",
       "print where the ranks would go, and start none",
       [](Parse& p, std::string_view) { return p.run.dry_run = true, Error(); },
       "O"},
      {{"app", "configfile"},
       "FILE",
       "programs of the job, one a line as on the command line",
       take_file,
       "OM",
       "",
       "/dev/null"},
      {{"quiet", "q"},
       "",
       "say nothing but errors",
       [](Parse& p, std::string_view) { return take_level(p, "error"); },
       "OS"},
      {{"verbose", "v"},
       "",
       "say more of what is done",
       [](Parse& p, std::string_view) { return take_level(p, "debug"); },
       "OMS"},
      {{"mca", "gmca", "prtemca", "pmixmca"},
       "NAME VALUE",
       "",
       take_mca,
       "O",
       "a parameter of Open MPI: some are settings here (plm_rsh_agent, hwloc_base_binding_policy, "
       "rmaps_base_mapping_policy), and of the others a line says what they would mean",
       "btl self",
       2},
      {{"tune", "am"},
       "FILE",
       "",
       refused,
       "O",
       "a file of Open MPI's parameters; the settings here stand in tutti.yaml(5)",
       "f"},
      {{"preload-binary", "bcast"},
       "",
       "copy the program to the other nodes",
       [](Parse& p, std::string_view) { return p.run.preload_programs = true, Error(); },
       "OS",
       "copies the programs to the other nodes, and starts them from there; the copies go with the job"},
      {{"preload-files"},
       "FILES",
       "copy these files to the other nodes",
       [](Parse& p, std::string_view v) {
         for (std::string& name : parts(v, ',')) p.run.preload_files.push_back(std::move(name));
         return Error();
       },
       "O",
       "copies these files, divided by commas, into the folder of the ranks on other nodes, where nothing of their name "
       "is yet; they go with the job",
       "f"},
      {{"launcher", "bootstrap", "rmk"},
       "NAME",
       "",
       take_launcher,
       "M",
       "a command such as ssh, as --set launch.rsh=NAME",
       "ssh"},
      {{"launcher-exec", "bootstrap-exec", "launch-agent"},
       "COMMAND",
       "",
       take_launcher,
       "OM",
       "as --set launch.rsh=COMMAND",
       "ssh"},
      {{"allow-run-as-root"}, "", "", accepted, "O", kGoes},
      {{"enable-recovery", "disable-recovery", "with-ft"},
       "",
       "",
       refused,
       "O",
       "a rank that fails ends the job"},
      {{"usize"},
       "N",
       "",
       refused,
       "M",
       "the slots of --host or --hostfile are the size of the universe",
       "4"},
      {{"mpi"}, "NAME", "", accepted, "S", "accepted; ranks find each other by PMIx", "pmix"},
      {{"stop-on-start", "stop-in-init"},
       "",
       "let the ranks wait in MPI_Init until a debugger is attached, or mpirun gets SIGCONT",
       [](Parse& p, std::string_view) { return p.run.stop_on_start = true, Error(); },
       "TO",
       "the ranks wait at the end of MPI_Init, each until a debugger has been attached to it and lets it go on, or until "
       "it gets SIGCONT, which mpirun passes on to all"},
      {{"gdb"},
       "",
       "as --stop-on-start, and open a gdb for each rank, in windows of tmux",
       [](Parse& p, std::string_view) { return p.run.stop_on_start = p.run.gdb = true, Error(); },
       "TM"},
      {{"stop-on-exec", "stop-in-app"},
       "",
       "",
       refused,
       "O",
       "type --stop-on-start: the ranks wait in MPI_Init"},
      {{"debug", "tv"},
       "",
       "",
       refused,
       "OM",
       "type --gdb, or --stop-on-start and attach a debugger to the ranks whose process numbers are told"},
  };
}

}  // namespace

bool is_refused(const Option& option) {
  return option.take == refused;
}

const std::vector<Option>& foreign_options() {
  static const std::vector<Option> table = [] {
    std::vector<Option> all;
    for (const auto& rows :
         {placement_options(), environment_options(), stream_options(), other_options()})
      all.insert(all.end(), rows.begin(), rows.end());
    return all;
  }();
  return table;
}

}  // namespace tutti::launcher
