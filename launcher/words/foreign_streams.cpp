// SPDX-License-Identifier: BSD-3-Clause
// What ranks are given, read and write, as users of other launchers say it: variables and standard streams.
#include <algorithm>

#include "launcher/data/job_map.hpp"
#include "launcher/data/output_shape.hpp"
#include "launcher/words/foreign_options.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

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
  if (value[0] == '-') return bad_value(p, value, "ALL, NONE, NAME or NAME=VALUE, divided by commas");
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

Error take_interface(Parse& p, std::string_view value) {
  p.app.variables.push_back(fmt::format("UCX_NET_DEVICES={}", value));
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

}  // namespace

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
      {{"genvall", "envall", "genvuser", "envuser", "export-all"},
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
      {{"genvexcl", "envexcl"},
       "NAMES",
       "",
       [](Parse& p, std::string_view v) {
         for (std::string& name : parts(v, ',')) p.run.inherit.unset.push_back(std::move(name));
         return Error();
       },
       "M",
       "ranks do not get these variables, as --unset for each",
       "A,B"},
      {{"export"}, "LIST", "", take_export, "S", "ALL, NONE, and NAME or NAME=VALUE, divided by commas", "ALL,A=b"},
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
      {{"prefix"}, "FOLDER", "", refused, "O", "Tutti is looked for on every node where mpirun is on this one", "p"},
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
      {{"errfile-pattern"}, "NAME", "", refused, "M", "type --output file=NAME, which has NAME.err beside it", "e"},
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
      {{"xterm", "xml"}, "WHAT", "", refused, "O", "type --output file=NAME for a file of each rank", "0"},
  };
}

}  // namespace tutti::launcher
