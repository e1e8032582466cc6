// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/options.hpp"

#include <charconv>
#include <span>

#include "base/nearest.hpp"
#include "base/stress_mode.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

struct Parse {
  RunOptions run;
  AppOptions app;
  std::string option;  // as the user wrote it, for messages
};

Error bad_value(const Parse& p, std::string_view value, std::string_view expected) {
  return failure(MPI_ERR_ARG, "{} takes {}, not '{}'", p.option, expected, value);
}

Error take_ranks(Parse& p, std::string_view value) {
  int ranks = 0;
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), ranks);
  if (problem != std::errc() || end != value.data() + value.size() || ranks < 1 ||
      ranks > 1'000'000)
    return bad_value(p, value, "a number of ranks from 1 to 1000000");
  p.app.ranks = ranks;
  return {};
}

Error take_hosts(Parse& p, std::string_view value) {
  while (!value.empty()) {
    const size_t comma = std::min(value.find(','), value.size());
    if (comma == 0) return bad_value(p, value, "names such as node1:2,node2:2");
    p.app.hosts.emplace_back(value.substr(0, comma));
    value.remove_prefix(std::min(comma + 1, value.size()));
  }
  return p.app.hosts.empty() ? bad_value(p, value, "names such as node1:2,node2:2") : Error();
}

Error take_variable(Parse& p, std::string_view value) {
  if (value.empty() || value[0] == '=') return bad_value(p, value, "NAME or NAME=value");
  p.app.variables.emplace_back(value);
  return {};
}

Error take_timeout(Parse& p, std::string_view value) {
  double seconds = 0;
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  const std::string_view unit(end, static_cast<size_t>(value.data() + value.size() - end));
  if (problem != std::errc() || (!unit.empty() && unit != "s") || !(seconds > 0 && seconds <= 1e9))
    return bad_value(p, value, "a positive number of seconds");
  p.run.timeout = std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
  return {};
}

Error take_setting(Parse& p, std::string_view value) {
  const size_t equals = value.find('=');
  if (equals == value.npos || equals == 0) return bad_value(p, value, "name=value");
  p.run.settings.push_back({std::string(value.substr(0, equals)),
                            std::string(value.substr(equals + 1)),
                            fmt::format("{} {}", p.option, value)});
  return {};
}

Error take_stress(Parse& p, std::string_view value) {
  if (!stress_mode(value)) return bad_value(p, value, kStressModes);
  p.run.settings.push_back(
      {"contract.stress", std::string(value), fmt::format("{} {}", p.option, value)});
  return {};
}

Error take_process_set(Parse& p, std::string_view value) {
  const size_t equals = value.rfind('=');
  if (equals == value.npos || equals == 0 || equals + 1 == value.size() ||
      value.find(';') != value.npos)
    return bad_value(p, value, "NAME=RANKS such as left=0-3,8");
  p.run.process_sets.push_back(std::string(value.substr(0, equals)) + ":" +
                               std::string(value.substr(equals + 1)));
  return {};
}

Error take_initial_errhandler(Parse& p, std::string_view value) {
  if (value != "mpi_errors_are_fatal" && value != "mpi_errors_abort" && value != "mpi_errors_return")
    return bad_value(p, value, "mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return");
  p.run.initial_errhandler = value;
  return {};
}

struct Option {
  std::vector<std::string_view> names;  // without dashes, the documented one first
  std::string_view value;               // what it takes, for the help; empty: nothing
  std::string_view doc;                 // empty: accepted and not advertised
  Error (*take)(Parse&, std::string_view value);
};

// A '-' or '--' before any name; '--name=value' works for all that take one.
const std::vector<Option>& options() {
  static const std::vector<Option> table{
      {{"n", "np", "c"}, "N", "ranks of this program; default: one for each slot", take_ranks},
      {{"host", "H"},
       "NAME[:SLOTS],…",
       "nodes to use, one slot each unless it says more;\nrepeated names add slots",
       take_hosts},
      {{"hostfile", "machinefile", "f"},
       "FILE",
       "nodes to use: lines 'name slots=N max_slots=N' or 'name:N'",
       [](Parse& p, std::string_view v) {
         if (!p.run.hostfile.empty())
           return failure(MPI_ERR_ARG, "{} is given twice ({} and {}); one file names all nodes",
                          p.option, p.run.hostfile, v);
         p.run.hostfile = v;
         return Error();
       }},
      {{"x"}, "NAME[=VALUE]", "give the ranks this variable", take_variable},
      {{"wdir", "wd"},
       "FOLDER",
       "start the ranks in this folder",
       [](Parse& p, std::string_view v) {
         p.app.folder = v;
         return Error();
       }},
      {{"map-by"},
       "HOW",
       "slot, core, node, socket, numa or ppr:N:node; ':nooversubscribe' refuses\n"
       "more ranks than slots, ':pe=N' gives each rank N cores",
       [](Parse& p, std::string_view v) {
         p.run.map_by = v;
         return Error();
       }},
      {{"bind-to"},
       "WHAT",
       "none, hwthread, core, numa or socket; default: core, or none when\n"
       "a node has more ranks than cores",
       [](Parse& p, std::string_view v) {
         p.run.bind_to = v;
         return Error();
       }},
      {{"report-bindings"},
       "",
       "print where each rank runs",
       [](Parse& p, std::string_view) {
         p.run.report_bindings = true;
         return Error();
       }},
      {{"tag-output"},
       "",
       "begin each line of output with '[rank] '",
       [](Parse& p, std::string_view) {
         p.run.tag_output = true;
         return Error();
       }},
      {{"stress"},
       "HOW",
       "behave as differently as the standard allows: sync, loose or random:SEED\n"
       "(tutti-stress(7))",
       take_stress},
      {{"timeout"}, "SECONDS", "end the job after this time, with exit code 124", take_timeout},
      {{"check"},
       "LEVEL",
       "look for wrong use of MPI: basic (the default), strict, or off",
       [](Parse& p, std::string_view v) {
         if (v != "off" && v != "basic" && v != "strict")
           return bad_value(p, v, "off, basic or strict");
         p.run.settings.push_back(
             {"contract.check", std::string(v), fmt::format("{} {}", p.option, v)});
         return Error();
       }},
      {{"pset"},
       "NAME=RANKS",
       "name a process set for MPI_Group_from_session_pset: left=0-3,8",
       take_process_set},
      {{"memory-alloc-kinds"},
       "KINDS",
       "kinds of memory that the program hands to MPI: system, mpi",
       [](Parse& p, std::string_view v) {
         p.run.memory_kinds = v;
         return Error();
       }},
      {{"initial-errhandler"},
       "HANDLER",
       "what errors do at first: mpi_errors_are_fatal (the default),\n"
       "mpi_errors_abort or mpi_errors_return",
       take_initial_errhandler},
      {{"set"}, "NAME=VALUE", "change a setting (see 'tutti info --config')", take_setting},
      {{"help", "h"},
       "",
       "print this text",
       [](Parse& p, std::string_view) {
         p.run.help = true;
         return Error();
       }},
      {{"version", "V"},
       "",
       "print the version",
       [](Parse& p, std::string_view) {
         p.run.version = true;
         return Error();
       }},
      {{"oversubscribe"}, "", "", [](Parse&, std::string_view) { return Error(); }},
      {{"allow-run-as-root"}, "", "", [](Parse&, std::string_view) { return Error(); }},
  };
  return table;
}

const Option* find_option(std::string_view name) {
  for (const Option& option : options())
    for (std::string_view known : option.names)
      if (known == name) return &option;
  return nullptr;
}

Error unknown_option(std::string_view written, std::string_view name) {
  std::vector<std::string_view> known;
  for (const Option& option : options())
    for (std::string_view each : option.names)
      if (each.size() > 2 || name.size() <= 2) known.push_back(each);
  const std::string_view dashes = name.size() > 2 ? "--" : "-";
  return failure(MPI_ERR_ARG, "unknown option '{}'{} ('--help' lists them)", written,
                 did_you_mean(name, known, dashes));
}

Error finish_app(Parse& p) {
  if (p.app.command.empty())
    return Error(MPI_ERR_ARG,
                 p.run.apps.empty()
                     ? "no program is given; try: mpirun -n 4 ./program"
                     : "no program stands behind ':'; write: mpirun -n 1 ./a : -n 3 ./b");
  p.run.apps.push_back(std::exchange(p.app, {}));
  return {};
}

// Takes the option at `at` and its value; returns through `at` the index behind them.
Error take_option(Parse& p, const std::vector<std::string>& arguments, size_t& at) {
  const std::string_view written = arguments[at++];
  std::string_view name = written.substr(written.starts_with("--") ? 2 : 1);
  std::optional<std::string_view> value;
  if (const size_t equals = name.find('='); equals != name.npos) {
    value = name.substr(equals + 1);
    name = name.substr(0, equals);
  }
  const Option* option = find_option(name);
  if (!option) return unknown_option(written, name);
  p.option = written.substr(0, written.size() - (value ? value->size() + 1 : 0));
  if (option->value.empty())
    return value ? failure(MPI_ERR_ARG, "{} takes no value", p.option) : option->take(p, {});
  if (!value) {
    if (at == arguments.size())
      return failure(MPI_ERR_ARG, "{} needs a value: {}", p.option, option->value);
    value = arguments[at++];
  }
  // Such as "--hostfile $HOSTS" with a variable that is not set.
  if (value->find_first_not_of(" \t") == value->npos)
    return failure(MPI_ERR_ARG, "{} needs a value ({}), and its value is empty", p.option,
                   option->value);
  return option->take(p, *value);
}

}  // namespace

Result<RunOptions> parse_run_options(const std::vector<std::string>& arguments) {
  Parse p;
  for (size_t at = 0; at < arguments.size();) {
    const std::string& word = arguments[at];
    if (word.size() > 1 && word[0] == '-' && word != "--") {
      if (Error e = take_option(p, arguments, at)) return e;
      if (p.run.help || p.run.version) return std::move(p.run);
      continue;
    }
    // The program: the rest is its own, up to the ':' of the next one.
    if (word == "--") ++at;
    while (at < arguments.size() && arguments[at] != ":") p.app.command.push_back(arguments[at++]);
    if (Error e = finish_app(p)) return e;
    if (at == arguments.size()) return std::move(p.run);
    ++at;  // the ':'
  }
  if (Error e = finish_app(p)) return e;
  return std::move(p.run);
}

std::string run_help(std::string_view command) {
  std::string text = fmt::format(
      "Usage: {0} [options] program [arguments] [: [options] program [arguments]]…\n"
      "Starts the ranks of a parallel program, on this machine or on several.\n\n",
      command);
  for (const Option& option : options()) {
    if (option.doc.empty()) continue;
    std::string left;
    for (std::string_view name : option.names)
      left += fmt::format("{}{}{}", left.empty() ? "" : ", ", name.size() > 2 ? "--" : "-", name);
    if (!option.value.empty()) left += fmt::format(" {}", option.value);
    std::string doc(option.doc);
    if (const size_t end = doc.find('\n'); end != doc.npos) doc.insert(end + 1, 30, ' ');
    // One column of words of the help; a long left side has a line of its own.
    if (left.size() > 26) left += "\n" + std::string(28, ' ');
    text += fmt::format("  {:<27} {}\n", left, doc);
  }
  return text +
         "\nEverything behind the program's name belongs to the program.\n"
         "Exit code: that of the first rank that failed, 128+N for signal N, 124 after\n"
         "--timeout, 86 for a deadlock, 126 and 127 for a program that cannot be run or found.\n";
}

}  // namespace tutti::launcher
