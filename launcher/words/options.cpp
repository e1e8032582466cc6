// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/words/options.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/file_text.hpp"
#include "base/nearest.hpp"
#include "launcher/words/option_table.hpp"
#include "launcher/words/program_list.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

Error unknown_option(std::string_view written, std::string_view name) {
  std::vector<std::string_view> known;
  for (const Option& option : option_table())
    for (std::string_view each : option.names)
      if (each.size() > 2 && is_offered(option)) known.push_back(each);
  // Of one letter or two every other one is near, and none is meant.
  const std::string meant = name.size() > 2 ? did_you_mean(name, known, "--") : "";
  return failure(MPI_ERR_ARG, "unknown option '{}'{} ('--help options' lists all)", written, meant);
}

// "-n4", "-np4", "-t10:00": a short name with a number behind it, as shells of getopt(3) have it. Returns the name's length.
size_t glued_name(std::string_view name) {
  const size_t digit = name.find_first_of("0123456789");
  if (digit == 0 || digit > 2) return 0;
  const Option* option = find_option(name.substr(0, digit));
  return option && !option->value.empty() ? digit : 0;
}

bool is_number(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == word.npos;
}

// What stands in the program's place and is none, by how it looks. Such a program is started by a path, as ./4.
Error check_program(const Parse& p) {
  const std::vector<std::string>& command = p.app.command;
  if (is_number(command[0]) && !p.app.ranks)
    return failure(MPI_ERR_ARG, "'{0}' stands where the program should, and -n is missing; type: mpirun -n {0} {1}",
                   command[0], command.size() > 1 ? command[1] : "./program");
  const size_t equals = command[0].find('=');
  const auto is_of_name = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  if (equals == command[0].npos || equals == 0 || std::isdigit(static_cast<unsigned char>(command[0][0])) ||
      !std::all_of(command[0].begin(), command[0].begin() + static_cast<ptrdiff_t>(equals), is_of_name))
    return {};
  return failure(MPI_ERR_ARG, "'{0}' stands where the program should; to give ranks a variable type: -x {0}",
                 command[0]);
}

// --multi-prog: the program is a file that names those of each rank.
Error take_programs_by_ranks(Parse& p) {
  const std::string name = p.app.command[0];
  if (!p.run.apps.empty())
    return failure(MPI_ERR_ARG, "--multi-prog names the programs of all ranks, and '{}' stands beside it",
                   p.run.apps[0].command[0]);
  if (p.app.command.size() > 1)
    return failure(MPI_ERR_ARG, "--multi-prog takes a file and nothing behind it, and not '{}'", p.app.command[1]);
  const Result<std::string> content = text_of(name);
  if (!content)
    return failure(MPI_ERR_FILE, "--multi-prog {}: the file cannot be read ({})", name, content.error().message());
  Result<std::vector<AppOptions>> programs = programs_by_ranks(*content, name, p.app);
  if (!programs) return std::move(programs).error();
  p.run.apps = std::move(*programs);
  p.app = {};
  return {};
}

Error finish_app(Parse& p) {
  if (p.app.command.empty())
    return Error(MPI_ERR_ARG, p.run.apps.empty() ? "no program is given; try: mpirun -n 4 ./program"
                                                 : "no program stands behind ':'; write: mpirun -n 1 ./a : -n 3 ./b");
  p.ranks_by.clear();
  if (p.app.by_ranks) return take_programs_by_ranks(p);
  if (!p.run.apps.empty() && p.run.apps[0].by_ranks)
    return failure(MPI_ERR_ARG, "--multi-prog names the programs of all ranks, and '{}' stands beside it",
                   p.app.command[0]);
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
  p.option = written.substr(0, written.size() - (value ? value->size() + 1 : 0));
  if (const size_t length = option || value || written.starts_with("--") ? 0 : glued_name(name)) {
    value = name.substr(length);
    name = name.substr(0, length);
    option = find_option(name);
    p.option = written.substr(0, length + 1);
  }
  if (!option) return unknown_option(written, name);
  p.row = option;
  if (option->values == 0) return option->take(p, value.value_or(""));
  if (option->value.empty()) return value ? failure(MPI_ERR_ARG, "{} takes no value", p.option) : option->take(p, {});
  if (!value) {
    if (at == arguments.size()) return failure(MPI_ERR_ARG, "{} needs a value: {}", p.option, option->value);
    value = arguments[at++];
  }
  // Such as "--hostfile $HOSTS" with a variable that is not set.
  if (value->find_first_not_of(" \t") == value->npos)
    return failure(MPI_ERR_ARG, "{} needs a value ({}), and its value is empty", p.option, option->value);
  // "-genv NAME=VALUE" has both in one word.
  p.second.clear();
  if (option->values == 2 && value->find('=') == value->npos) {
    if (at == arguments.size()) return failure(MPI_ERR_ARG, "{} needs two values: {}", p.option, option->value);
    p.second = arguments[at++];
  }
  return option->take(p, *value);
}

Error parse_words(Parse& p, const std::vector<std::string>& arguments, bool of_file);

// The programs of --app FILE, a line each.
Error read_programs(Parse& p, const std::string& name) {
  const Result<std::string> content = text_of(name);
  if (!content) return failure(MPI_ERR_FILE, "--app {}: the file cannot be read ({})", name, content.error().message());
  Result<std::vector<WordLine>> lines = word_lines(*content, name);
  if (!lines) return std::move(lines).error();
  const size_t before = p.run.apps.size();
  for (const WordLine& line : *lines)
    if (Error e = parse_words(p, line.words, true)) return std::move(e).within(fmt::format("{}:{}", name, line.number));
  return p.run.apps.size() > before
             ? Error()
             : failure(MPI_ERR_ARG, "--app {}: names no program; a line is '-n 2 ./program'", name);
}

Error parse_words(Parse& p, const std::vector<std::string>& arguments, bool of_file) {
  for (size_t at = 0; at < arguments.size();) {
    const std::string& word = arguments[at];
    if (word.size() > 1 && word[0] == '-' && word != "--") {
      if (Error e = take_option(p, arguments, at)) return e;
      if (of_file && p.files.size() > 1) return failure(MPI_ERR_ARG, "{} has no place in a file of programs", p.option);
      if (!p.run.help && !p.run.version && !p.run.info) continue;
      if (p.run.help && at < arguments.size()) p.run.help_topic = arguments[at];
      return {};
    }
    // The program: the rest is its own, up to the ':' of the next one.
    const bool is_certain = word == "--";
    if (is_certain) ++at;
    while (at < arguments.size() && arguments[at] != ":") p.app.command.push_back(arguments[at++]);
    if (!is_certain && !p.app.command.empty())
      if (Error e = check_program(p)) return e;
    if (Error e = finish_app(p)) return e;
    if (at == arguments.size()) return {};
    ++at;  // the ':'
  }
  if (!p.files.empty()) return {};
  return finish_app(p);
}

}  // namespace

std::optional<std::chrono::nanoseconds> timeout_of(std::string_view text) {
  double seconds = 0;
  const char* const last = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), last, seconds);
  const std::string_view unit(end, static_cast<size_t>(last - end));
  if (problem != std::errc() || (!unit.empty() && unit != "s") || !(seconds > 0 && seconds <= 1e9)) return std::nullopt;
  return std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
}

Result<RunOptions> parse_run_options(const std::vector<std::string>& arguments) {
  Parse p;
  // As "tutti help" and "tutti version"; a program of such a name is started as ./help.
  const std::string word = arguments.empty() ? "" : arguments[0];
  p.run.help = word == "help" && arguments.size() <= 2;
  p.run.version = word == "version" && arguments.size() == 1;
  if (p.run.help && arguments.size() == 2) p.run.help_topic = arguments[1];
  if (p.run.help || p.run.version) return std::move(p.run);
  if (Error e = parse_words(p, arguments, false)) return e;
  if (p.run.help || p.run.version || p.run.info) return std::move(p.run);
  if (!p.files.empty() && !p.run.apps.empty())
    return failure(MPI_ERR_ARG,
                   "--app {} names the programs, and '{}' stands on the command line; "
                   "write that into the file",
                   p.files[0], p.run.apps[0].command[0]);
  if (p.files.size() > 1)
    return failure(MPI_ERR_ARG, "--app is given twice ({} and {}); one file names all programs", p.files[0],
                   p.files[1]);
  if (!p.files.empty())
    if (Error e = read_programs(p, std::string(p.files[0]))) return e;  // more may be put there, and refused
  return std::move(p.run);
}

namespace {

struct Topic {
  std::string_view name, about;
  std::vector<std::string_view> options;
};

const std::vector<Topic>& topics() {
  static const std::vector<Topic> table{
      {"placement",
       "Ranks fill the slots of the nodes in their order, and each is bound to a core while there are enough.",
       {"n", "N", "host", "hostfile", "map-by", "rank-by", "rankfile", "oversubscribe", "nooversubscribe", "display",
        "dry-run"}},
      {"binding",
       "Where a node has more ranks than cores, or other jobs of yours have these, ranks are not bound.",
       {"bind-to", "cpus-per-rank", "gpus-per-rank", "cpu-set", "use-hwthread-cpus", "report-bindings"}},
      {"output",
       "Lines of output stay whole; standard input goes to rank 0.",
       {"tag-output", "output", "output-filename", "timestamp-output", "merge-stderr-to-stdout", "stdin"}},
      {"environment",
       "Ranks get the environment of mpirun; on other nodes without what belongs to a host or a login.",
       {"x", "genv", "env", "genvlist", "genvnone", "unset", "export", "wdir"}},
      {"files",
       "Programs and their files are looked for at the same place on all nodes.",
       {"app", "wdir", "preload-binary", "preload-files"}},
      {"debugging",
       "mpirun(1) shows a session with gdb; 'tutti why' tells what the ranks of a running job are doing.",
       {"stop-on-start", "gdb", "check", "stress", "timeout", "verbose"}},
  };
  return table;
}

}  // namespace

std::optional<std::string> help_on(std::string_view topic) {
  const auto text = [](const Option& option) {
    std::string doc(option.page.empty() ? option.doc : option.page);
    std::ranges::replace(doc, '\n', ' ');
    return fmt::format("{}{}{}\n    {}{}\n", names_of(option), option.value.empty() ? "" : " ", option.value,
                       is_refused(option) ? "not supported: "
                       : is_noted(option) ? "changes nothing: "
                                          : "",
                       doc);
  };
  // Topics of Open MPI's --help that have another name here.
  if (topic == "mapping" || topic == "ranking") topic = "placement";
  if (topic == "input") topic = "output";
  if (topic == "all") topic = "options";
  std::string out;
  for (const Topic& each : topics()) {
    if (topic == "topics") out += fmt::format("{}\n    {}\n", each.name, each.about);
    if (topic != each.name) continue;
    out = fmt::format("{}\n\n", each.about);
    for (std::string_view name : each.options) out += text(*find_option(name));
    return out;
  }
  if (topic == "topics") return out + "options\n    All options, also those of other launchers.\n";
  while (topic.starts_with('-')) topic.remove_prefix(1);
  if (topic == "options")
    for (const Option& option : option_table()) out += text(option);
  else if (const Option* option = find_option(topic))
    out = text(*option);
  return out.empty() ? std::nullopt : std::optional(out);
}

std::string run_help(std::string_view command) {
  std::string text = fmt::format(
      "Usage: {0} [options] program [arguments] [: [options] program [arguments]]…\n"
      "Starts the ranks of a parallel program, on this machine or on several.\n\n",
      command);
  // Two columns; a long left side has a line of its own.
  constexpr size_t left_width = 27;
  const std::string indent(2 + left_width + 1, ' ');
  for (const Option& option : option_table()) {
    if (option.doc.empty()) continue;
    std::string left = names_of(option);
    if (!option.value.empty()) left += fmt::format(" {}", option.value);
    std::string doc(option.doc);
    for (size_t end = doc.find('\n'); end != doc.npos; end = doc.find('\n', end + 1)) doc.insert(end + 1, indent);
    if (left.size() >= left_width) left += "\n" + indent.substr(0, indent.size() - 1);
    text += fmt::format("  {:<{}} {}\n", left, left_width, doc);
  }
  return text +
         "\nEverything behind the program's name belongs to the program.\n"
         "Exit code: that of the first rank that failed, 128+N for signal N, 124 after\n"
         "--timeout, 86 for a deadlock, 126 and 127 for a program that cannot be run or found.\n";
}

}  // namespace tutti::launcher
