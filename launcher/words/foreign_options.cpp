// SPDX-License-Identifier: BSD-3-Clause
// What users of Open MPI, MPICH and Slurm type: taken where it means something here, and otherwise
// refused with what to type instead. Places are in foreign_placement.cpp, variables and streams in
// foreign_streams.cpp, what srun alone has in foreign_slurm.cpp, and what means nothing here in foreign_unused.cpp.
#include "launcher/words/foreign_options.hpp"

#include <algorithm>
#include <charconv>

#include "launcher/data/job_map.hpp"
#include "mpi.h"

namespace tutti::launcher {

Error accepted(Parse&, std::string_view) {
  return {};
}

Error refused(Parse& p, std::string_view) {
  return failure(MPI_ERR_ARG, "{} is not supported: {}", p.option, p.row->page);
}

Error noted(Parse& p, std::string_view value) {
  p.run.notes.push_back(
      fmt::format("{}{}{} changes nothing: {}", p.option, value.empty() ? "" : " ", value, p.row->page));
  return {};
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

namespace {

Error take_display(Parse& p, std::string_view value) {
  constexpr std::string_view known[] = {"map", "bindings", "allocation", "topology"};
  for (const std::string& part : parts(value, ','))
    for (const std::string& word : parts(part, ':')) {
      if (word == "parseable" || word == "parsable") {
        p.run.parseable = true;
        continue;
      }
      const std::string what = word == "bind"        ? "bindings"
                               : word == "alloc"     ? "allocation"
                               : word == "topo"      ? "topology"
                               : word == "map-devel" ? "map"
                                                     : word;
      if (!std::ranges::count(known, what))
        return bad_value(p, word, "map, bindings, allocation or topology, with :parseable");
      p.run.display.push_back(what);
    }
  return {};
}

template <int Word>
Error show(Parse& p, std::string_view) {
  p.run.display.emplace_back(Word == 0 ? "map" : Word == 1 ? "allocation" : "topology");
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
  if (value == "manual" || value == "persist")
    return failure(MPI_ERR_ARG, "{} {}: there is no such way here; leave it out, or name a command such as ssh",
                   p.option, value);
  // Whether nodes are reached so is known when they are.
  constexpr std::string_view schedulers[] = {"fork", "slurm", "srun",   "sge",     "lsf",
                                             "ll",   "pbs",   "pbsdsh", "blaunch", "qrsh"};
  if (std::ranges::count(schedulers, value))
    p.run.start_by = fmt::format("{} {}", p.option, value);
  else
    p.run.settings.push_back({"launch.rsh", std::string(value), p.option});
  return {};
}

Error take_resource_manager(Parse& p, std::string_view value) {
  constexpr std::string_view known[] = {"user", "slurm", "ll", "lsf", "sge", "pbs", "cobalt"};
  return std::ranges::count(known, value) ? Error() : bad_value(p, value, "user, slurm, ll, lsf, sge, pbs or cobalt");
}

Error take_fan_out(Parse& p, std::string_view value) {
  p.run.settings.push_back({"launch.fan_out", std::string(value), fmt::format("{} {}", p.option, value)});
  return {};
}

std::vector<Option> other_options() {
  // clang-format off
  return {
      {{"display"},
       "WHAT",
       "print the map, bindings, allocation or topology; ':parseable' for programs",
       take_display,
       "O",
       "",
       "map"},
      {{"display-map", "display-devel-map", "display-diffable-map", "print-rank-map"}, "", "", show<0>, "OM",
       "as --display map"},
      {{"display-allocation"}, "", "", show<1>, "O", "as --display allocation"},
      {{"display-topo"}, "", "", show<2>, "O", "as --display topology"},
      {{"info"}, "", "", [](Parse& p, std::string_view) { return p.run.info = true, Error(); }, "M", "as tutti info"},
      {{"dry-run", "do-not-launch", "donotlaunch", "test-only", "show"},
       "",
       "print where the ranks would go, and start none",
       [](Parse& p, std::string_view) { return p.run.dry_run = true, Error(); },
       "OSM"},
      {{"app", "configfile", "config"},
       "FILE",
       "programs of the job, one a line as on the command line",
       take_file,
       "OM",
       "",
       "/dev/null"},
      {{"quiet", "q", "Q", "silent-abort"},
       "",
       "say nothing but errors",
       [](Parse& p, std::string_view) { return take_level(p, "error"); },
       "OMS"},
      {{"verbose", "v", "debug-daemons"},
       "",
       "say more of what is done",
       [](Parse& p, std::string_view) { return take_level(p, "debug"); },
       "OMS"},
      {{"mca", "gmca", "omca", "prtemca", "pmixmca"},
       "NAME VALUE",
       "",
       take_mca,
       "O",
       "a parameter of Open MPI: some are settings here (plm_rsh_agent, hwloc_base_binding_policy, "
       "rmaps_base_mapping_policy), and of the others a line says what they would mean",
       "btl self",
       2},
      {{"tune", "am", "mca-base-param-file-prefix"},
       "FILE",
       "",
       refused,
       "O",
       "its file has the parameters of another MPI; the settings here stand in tutti.yaml(5)",
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
      {{"launcher", "bootstrap"},
       "NAME",
       "",
       take_launcher,
       "M",
       "a command such as ssh, as --set launch.rsh=NAME; fork for this machine alone; slurm, sge, lsf or pbs within an "
       "allocation of theirs, where it is so in any case",
       "ssh"},
      {{"rmk"}, "NAME", "", take_resource_manager, "M", "accepted; allocations of schedulers are seen", "slurm"},
      {{"launcher-exec", "bootstrap-exec"},
       "COMMAND",
       "",
       [](Parse& p, std::string_view v) {
         p.run.settings.push_back({"launch.rsh", std::string(v), p.option});
         return Error();
       },
       "M",
       "as --set launch.rsh=COMMAND",
       "ssh"},
      {{"ssh", "rsh"},
       "",
       "",
       [](Parse& p, std::string_view) {
         p.run.settings.push_back({"launch.rsh", p.option.substr(p.option.rfind('-') + 1), p.option});
         return Error();
       },
       "M",
       "as --set launch.rsh=ssh, or rsh"},
      {{"branch-count", "fanout"}, "N", "", take_fan_out, "MA", "how many daemons each starts, as --set launch.fan_out=N", "4"},
      {{"report-pid"},
       "FILE",
       "write the process number of mpirun into this file; '-': on standard output, '+': standard error",
       [](Parse& p, std::string_view v) { return p.run.process_id_file = v, Error(); },
       "O",
       "",
       "-"},
      {{"check_mpi", "check-mpi"},
       "",
       "",
       [](Parse& p, std::string_view) {
         p.run.settings.push_back({"contract.check", "strict", p.option});
         return Error();
       },
       "M",
       "as --check strict"},
      {{"allow-run-as-root"}, "", "", accepted, "O", "accepted; it is so in any case"},
      {{"usize", "universe_size"},
       "N",
       "",
       refused,
       "M",
       "the slots of --host or --hostfile are the size of the universe",
       "4"},
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
      {{"debug", "tv", "debugger", "dbg", "debug-devel"},
       "",
       "",
       refused,
       "OM",
       "type --gdb, or --stop-on-start and attach a debugger to the ranks whose process numbers are told"},
  };
  // clang-format on
}

}  // namespace

bool is_refused(const Option& option) {
  return option.take == refused;
}

bool is_noted(const Option& option) {
  return option.take == noted;
}

bool is_inert(const Option& option) {
  return option.take == accepted;
}

bool is_offered(const Option& option) {
  return !is_refused(option) && !is_noted(option) && !is_inert(option);
}

const std::vector<Option>& foreign_options() {
  static const std::vector<Option> table = [] {
    std::vector<Option> all;
    for (const auto& rows : {placement_options(), environment_options(), stream_options(), other_options(),
                             slurm_options(), unused_options()})
      all.insert(all.end(), rows.begin(), rows.end());
    return all;
  }();
  return table;
}

}  // namespace tutti::launcher
