// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/words/option_table.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/stress_mode.hpp"
#include "launcher/place/slurm.hpp"
#include "mpi.h"

namespace tutti::launcher {

Error bad_value(const Parse& p, std::string_view value, std::string_view expected) {
  return failure(MPI_ERR_ARG, "{} takes {}, not '{}'", p.option, expected, value);
}

namespace {

Error take_ranks(Parse& p, std::string_view value) {
  int ranks = 0;
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), ranks);
  if (problem != std::errc() || end != value.data() + value.size() || ranks < 1 || ranks > 1'000'000)
    return bad_value(p, value, "a number of ranks from 1 to 1000000");
  // Slurm's -c is another one, and may say another number than -n.
  const bool by_c = p.option.ends_with("-c") || p.ranks_by.ends_with("-c");
  if (p.app.ranks && *p.app.ranks != ranks && by_c)
    return failure(
        MPI_ERR_ARG,
        "{} {} and {} {} are both the number of ranks, as in Open MPI; for the cores of each rank, as Slurm's -c, "
        "type --cpus-per-rank",
        p.ranks_by, *p.app.ranks, p.option, ranks);
  p.app.ranks = ranks;
  p.ranks_by = p.option;
  return {};
}

// "node[1-3,7]:2" as the names that it stands for. An IPv6 address begins with its bracket.
Error add_hosts(Parse& p, std::string_view word) {
  const size_t bracket = word.find('[');
  if (bracket == word.npos || bracket == 0) return p.app.hosts.emplace_back(word), Error();
  const size_t user = word.rfind('@', bracket) == word.npos ? 0 : word.rfind('@', bracket) + 1;
  const size_t close = word.rfind(']');
  const size_t end = std::min(word.find(':', close == word.npos ? 0 : close), word.size());
  Result<std::vector<std::string>> names = expand_node_list(word.substr(user, end - user));
  if (!names) return std::move(names).error().within(p.option);
  for (const std::string& name : *names)
    p.app.hosts.push_back(fmt::format("{}{}{}", word.substr(0, user), name, word.substr(end)));
  return {};
}

Error take_hosts(Parse& p, std::string_view value) {
  constexpr std::string_view names = "names such as node1:2,node2:2 or node[1-2]:2";
  while (!value.empty()) {
    size_t comma = 0;
    for (int depth = 0; comma < value.size() && (value[comma] != ',' || depth > 0); ++comma)
      depth += value[comma] == '[' ? 1 : value[comma] == ']' ? -1 : 0;
    if (comma == 0) return bad_value(p, value, names);
    if (Error e = add_hosts(p, value.substr(0, comma))) return e;
    value.remove_prefix(std::min(comma + 1, value.size()));
  }
  return p.app.hosts.empty() ? bad_value(p, value, names) : Error();
}

std::string in_small_letters(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

// rankfile:FILE and Open MPI's rankfile:file=FILE have their file in the same word. Capitals make no difference to Open
// MPI, whose pages write PPR:2:NODE:PE=4; files and devices keep theirs.
Error take_mapping(Parse& p, std::string_view value) {
  constexpr std::string_view file = "rankfile:", device = "dist:", elsewhere = ":nolocal";
  std::string text = in_small_letters(value);
  for (const std::string_view list : {"pe-list=", "cpu-list="})
    if (text.find(list) != text.npos)
      return failure(MPI_ERR_ARG, "--map-by {}: type --cpu-set LIST for the processors of each node that are used",
                     value);
  if (text.starts_with(device)) text.replace(device.size(), text.npos, value.substr(device.size()));
  if (text.starts_with(file)) {
    value.remove_prefix(file.size());
    if (value.starts_with("file=") || value.starts_with("FILE=")) value.remove_prefix(5);
    p.run.rankfile = value.substr(0, value.find(':'));
    text = "rankfile" + in_small_letters(value.substr(p.run.rankfile.size()));
  }
  const size_t at = text.find(elsewhere), behind = at + elsewhere.size();
  if (at != text.npos && (behind == text.size() || text[behind] == ':')) {
    p.run.other_nodes_only = true;
    text.erase(at, elsewhere.size());
  }
  p.run.map_by = text.empty() ? "slot" : text;
  return {};
}

Error take_variable(Parse& p, std::string_view value) {
  if (value.empty() || value[0] == '=') return bad_value(p, value, "NAME or NAME=value");
  p.app.variables.emplace_back(value);
  return {};
}

Error take_timeout(Parse& p, std::string_view value) {
  const std::optional<std::chrono::nanoseconds> timeout = timeout_of(value);
  if (!timeout) return bad_value(p, value, "a positive number of seconds");
  p.run.timeout = *timeout;
  p.run.timeout_by = fmt::format("{} {}", p.option, value);
  return {};
}

Error take_process_set(Parse& p, std::string_view value) {
  const size_t equals = value.rfind('=');
  if (equals == value.npos || equals == 0 || equals + 1 == value.size() || value.find(';') != value.npos)
    return bad_value(p, value, "NAME=RANKS such as left=0-3,8");
  p.run.process_sets.push_back(std::string(value.substr(0, equals)) + ":" + std::string(value.substr(equals + 1)));
  return {};
}

Error take_initial_errhandler(Parse& p, std::string_view value) {
  if (value != "mpi_errors_are_fatal" && value != "mpi_errors_abort" && value != "mpi_errors_return")
    return bad_value(p, value, "mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return");
  p.run.initial_errhandler = value;
  return {};
}

Error take_profile(Parse& p, std::string_view file) {
  p.run.settings.push_back({"profile.page", "on", p.option});
  if (!file.empty()) p.run.settings.push_back({"profile.file", std::string(file), p.option});
  return {};
}

Error take_on_failure(Parse& p, std::string_view value) {
  if (value != "end" && value != "continue" && value != "continue:exit=first")
    return bad_value(p, value, "end, continue or continue:exit=first");
  p.run.settings.push_back({"failure.action", std::string(value), fmt::format("{} {}", p.option, value)});
  return {};
}

Error take_setting(Parse& p, std::string_view value) {
  const size_t equals = value.find('=');
  if (equals == value.npos || equals == 0) return bad_value(p, value, "name=value");
  p.run.settings.push_back({std::string(value.substr(0, equals)), std::string(value.substr(equals + 1)),
                            fmt::format("{} {}", p.option, value)});
  return {};
}

Error take_stress(Parse& p, std::string_view value) {
  if (!stress_mode(value)) return bad_value(p, value, kStressModes);
  p.run.settings.push_back({"contract.stress", std::string(value), fmt::format("{} {}", p.option, value)});
  return {};
}

// A '-' or '--' before any name; '--name=value' works for all that take one.
const std::vector<Option>& own_options() {
  static const std::vector<Option> table{
      {{"n", "np", "c", "ntasks"},
       "N",
       "ranks of this program; default: one for each slot",
       take_ranks,
       "OMS",
       "",
       "2"},
      {{"host", "H"},
       "NAME[:SLOTS],…",
       "nodes to use, one slot each unless it says more; repeated names add slots;\n"
       "node[1-3] stands for three of them",
       take_hosts,
       "OM",
       "",
       "localhost:2"},
      {{"hostfile", "machinefile", "f"},
       "FILE",
       "nodes to use: lines 'name slots=N max_slots=N' or 'name:N'",
       [](Parse& p, std::string_view v) {
         if (!p.run.hostfile.empty())
           return failure(MPI_ERR_ARG, "{} is given twice ({} and {}); one file names all nodes", p.option,
                          p.run.hostfile, v);
         p.run.hostfile = v;
         return Error();
       },
       "OM",
       "",
       "/dev/null"},
      {{"x"},
       "NAME[=VALUE]",
       "give the ranks this variable; 'NAM*' stands for all that begin so",
       take_variable,
       "O",
       "",
       "A=b"},
      {{"wdir", "wd"},
       "FOLDER",
       "start the ranks in this folder",
       [](Parse& p, std::string_view v) {
         p.app.folder = v;
         return Error();
       },
       "OM",
       "",
       "/tmp"},
      {{"map-by"},
       "HOW",
       "slot, core, node, socket, numa, l3cache, gpu, ppr:N:PART, seq, dist:DEVICE or\n"
       "rankfile:FILE; ':pe=N' gives each rank N cores, ':nooversubscribe' refuses more than slots",
       take_mapping,
       "OM",
       "",
       "slot"},
      {{"bind-to"},
       "WHAT",
       "none, hwthread, core, l2cache, l3cache, numa or socket; default: core, or none when\n"
       "a node has more ranks than cores",
       [](Parse& p, std::string_view v) {
         p.run.bind_to = in_small_letters(v);
         return Error();
       },
       "OM",
       "",
       "none"},
      {{"report-bindings"},
       "",
       "print where each rank runs",
       [](Parse& p, std::string_view) {
         p.run.report_bindings = true;
         return Error();
       },
       "O",
       "",
       ""},
      {{"tag-output", "l", "label", "prepend-rank"},
       "",
       "begin each line of output with '[rank] '",
       [](Parse& p, std::string_view) {
         p.run.output.tag = true;
         return Error();
       },
       "OMS",
       "",
       ""},
      {{"stress"},
       "HOW",
       "behave as differently as the standard allows: sync, loose or random:SEED\n"
       "(tutti-stress(7))",
       take_stress,
       "T",
       "",
       "loose"},
      {{"timeout", "maxtime"},
       "SECONDS",
       "end the job after this time, with exit code 124",
       take_timeout,
       "O",
       "",
       "60"},
      {{"check"},
       "LEVEL",
       "look for wrong use of MPI: basic (the default), strict, or off",
       [](Parse& p, std::string_view v) {
         if (v != "off" && v != "basic" && v != "strict") return bad_value(p, v, "off, basic or strict");
         p.run.settings.push_back({"contract.check", std::string(v), fmt::format("{} {}", p.option, v)});
         return Error();
       },
       "T",
       "",
       "strict"},
      {{"on-failure"},
       "WHAT",
       "what a rank that fails does: end the job (the default), or continue without it, with exit\n"
       "code 0 if the others end well; continue:exit=first: with that of the first failure\n"
       "(tutti-survival(7))",
       take_on_failure,
       "T",
       "",
       "continue"},
      {{"profile"},
       "[=FILE]",
       "print at the end where the time went, and for whom ranks waited; to a file for 'tutti\n"
       "profile', or FILE.html: a page with a timeline, FILE.json: as Perfetto reads it",
       take_profile,
       "T",
       "",
       "solver.html",
       0},
      {{"pset"},
       "NAME=RANKS",
       "name a process set for MPI_Group_from_session_pset: left=0-3,8",
       take_process_set,
       "OT",
       "",
       "left=0"},
      {{"memory-alloc-kinds"},
       "KINDS",
       "kinds of memory that the program hands to MPI: system, mpi",
       [](Parse& p, std::string_view v) {
         p.run.memory_kinds = v;
         return Error();
       },
       "OMT",
       "",
       "system,mpi"},
      {{"initial-errhandler"},
       "HANDLER",
       "what errors do at first: mpi_errors_are_fatal (the default),\n"
       "mpi_errors_abort or mpi_errors_return",
       take_initial_errhandler,
       "OMT",
       "",
       "mpi_errors_return"},
      {{"set"}, "NAME=VALUE", "change a setting (see 'tutti info --config')", take_setting, "T", "", "log.level=note"},
      {{"help", "h"},
       "",
       "print this text; 'help NAME' says more of an option, 'help topics' what else there is",
       [](Parse& p, std::string_view) {
         p.run.help = true;
         return Error();
       },
       "OMS",
       "",
       ""},
      {{"version", "V"},
       "",
       "print the version",
       [](Parse& p, std::string_view) {
         p.run.version = true;
         return Error();
       },
       "OMS",
       "",
       ""},
  };
  return table;
}

}  // namespace

const std::vector<Option>& option_table() {
  static const std::vector<Option> table = [] {
    std::vector<Option> all = own_options();
    all.insert(all.end(), foreign_options().begin(), foreign_options().end());
    return all;
  }();
  return table;
}

std::string names_of(const Option& option) {
  std::string out;
  for (std::string_view name : option.names)
    out += fmt::format("{}{}{}", out.empty() ? "" : ", ", name.size() > 2 ? "--" : "-", name);
  return out;
}

const Option* find_option(std::string_view name) {
  for (const Option& option : option_table())
    for (std::string_view known : option.names)
      if (known == name) return &option;
  return nullptr;
}

namespace {

// How a row begins in the manual, by what becomes of it.
std::string_view verdict(const Option& option) {
  return is_refused(option) ? "Not supported: " : is_noted(option) ? "Changes nothing, and a line says so: " : "";
}

std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '-')
      out += "\\-";
    else if (c == '\n')
      out += ' ';
    else if (c == '\\')
      out += "\\e";
    else
      out += c;
  }
  return out;
}

std::string launchers(std::string_view letters) {
  std::string out;
  for (const char letter : letters)
    out += fmt::format("{}{}", out.empty() ? "" : ", ",
                       letter == 'O'   ? "Open MPI"
                       : letter == 'M' ? "MPICH"
                       : letter == 'S' ? "Slurm"
                       : letter == 'A' ? "aprun"
                       : letter == 'J' ? "jsrun"
                                       : "Tutti");
  return out.empty() ? "Tutti" : out;
}

}  // namespace

std::string option_specs() {
  const auto plain = [](std::string_view text) {
    std::string out;
    for (const char c : text) {
      if (c == '\n')
        out += ' ';
      else if (c == '\'')
        out += '"';
      else if (c == '[' || c == ']' || c == ':' || c == '\\')
        out += std::string("\\") + c;
      else
        out += c;
    }
    return out;
  };
  const auto values = [](std::string_view name) -> std::string {
    constexpr std::pair<std::string_view, std::string_view> known[] = {
        {"map-by", "(slot core node socket numa l3cache gpu seq ppr\\:1\\:node ppr\\:1\\:socket)"},
        {"rank-by", "(slot node fill span socket numa l3cache core)"},
        {"bind-to", "(none hwthread core l2cache l3cache numa socket)"},
        {"check", "(off basic strict)"},
        {"on-failure", "(end continue continue\\:exit=first)"},
        {"stress", "(sync loose random\\:1)"},
        {"display", "(map bindings allocation topology)"},
        {"output", "(tag timestamp merge dir= file=)"},
        {"stdin", "(none all 0)"},
        {"initial-errhandler", "(mpi_errors_are_fatal mpi_errors_abort mpi_errors_return)"}};
    for (const auto& [option, list] : known)
      if (option == name) return std::string(list);
    for (std::string_view each : {"hostfile", "rankfile", "app", "preload-files", "profile"})
      if (each == name) return "_files";
    for (std::string_view each : {"wdir", "chdir", "output-filename"})
      if (each == name) return "_files -/";
    return "";
  };
  std::string out;
  for (const Option& option : option_table()) {
    if (!is_offered(option)) continue;
    const std::string doc = plain(option.doc.empty() ? option.page : option.doc);
    for (std::string_view name : option.names) {
      // In the same word, where there is something to complete.
      const bool may_have_value = option.values == 0 && !values(option.names[0]).empty();
      out += fmt::format("  '*{}{}{}[{}]", name.size() > 2 ? "--" : "-", name, may_have_value ? "=-" : "", doc);
      if (may_have_value) out += fmt::format("::{}:{}", plain(option.value), values(option.names[0]));
      for (int value = 0; !option.value.empty() && value < option.values; ++value)
        out += fmt::format(":{}:{}", plain(option.value), value == 0 ? values(option.names[0]) : "");
      out += "'\n";
    }
  }
  return out;
}

std::string option_rows() {
  std::string out;
  for (const Option& option : option_table()) {
    out += fmt::format(".TP\n\\fB{}\\fR{}{}\n({}) {}{}.\n", roff(names_of(option)), option.value.empty() ? "" : " ",
                       roff(option.value), launchers(option.from), verdict(option),
                       roff(option.page.empty() ? option.doc : option.page));
  }
  return out;
}

}  // namespace tutti::launcher
