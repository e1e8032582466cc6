// SPDX-License-Identifier: BSD-3-Clause
// What users of Open MPI, MPICH and Slurm type: taken where it means something here, and otherwise
// refused with what to type instead. Places are in foreign_placement.cpp, variables and streams in
// foreign_streams.cpp.
#include "launcher/foreign_options.hpp"

#include <algorithm>
#include <charconv>

#include "launcher/job_map.hpp"
#include "mpi.h"

namespace tutti::launcher {

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

namespace {

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

constexpr std::string_view kGoes = "accepted; it is so in any case";

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
