// SPDX-License-Identifier: BSD-3-Clause
// `tutti profile`: profiles that mpirun --profile=FILE has left, printed again, compared, or in another form.
#include "launcher/profile_command.hpp"

#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/log.hpp"
#include "launcher/node/profiles.hpp"
#include "launcher/profile/profile_compare.hpp"
#include "launcher/profile/profile_file.hpp"
#include "launcher/profile/profile_output.hpp"
#include "launcher/profile/profile_page.hpp"

namespace tutti::launcher {
namespace {

constexpr const char* kHelp =
    "Usage: tutti profile FILE                           print it, as mpirun --profile does\n"
    "       tutti profile FILE... --compare OTHER...     what is slower in FILE than in OTHER, by place, and\n"
    "                                                    what of it is noise; each may be several runs\n"
    "       tutti profile FILE -o NEW.html               a page for a browser; NEW.json: for Perfetto\n"
    "FILE and OTHER are what 'mpirun --profile=FILE' has left, or the folder of a job without mpirun (srun).\n";

struct Options {
  bool help = false;
  std::vector<std::string> files, others;
  std::string output;
};

// An empty result has been told.
std::optional<Options> parse(const std::vector<std::string>& arguments) {
  Options out;
  bool compares = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--help" || word == "-h") {
      out.help = true;
    } else if (word == "--compare") {
      compares = true;
    } else if (word == "-o" || word == "--output") {
      if (i + 1 == arguments.size()) return say(Level::error, "{} takes a file to write", word), std::nullopt;
      out.output = arguments[++i];
    } else if (word.starts_with("-") && word != "-") {
      return say(Level::error, "tutti profile takes files, --compare and -o, not '{}'", word), std::nullopt;
    } else {
      (compares ? out.others : out.files).push_back(word);
    }
  }
  if (out.help) return out;
  if (compares && out.others.empty())
    return say(Level::error, "--compare takes the profiles of earlier runs"), std::nullopt;
  if (out.files.empty())
    return say(Level::error, "tutti profile takes a file that 'mpirun --profile=FILE' has left"), std::nullopt;
  if (!compares && out.files.size() > 1)
    return say(Level::error,
               "of several files none is printed; to compare them, type --compare before the earlier ones"),
           std::nullopt;
  if (compares && !out.output.empty())
    return say(Level::error, "-o writes a profile; a comparison is printed"), std::nullopt;
  return out;
}

// What ranks have left that no launcher of ours started: a page each, in a folder.
JobProfile read_folder(const std::string& folder) {
  JobProfile ranks = read_profiles(folder, ProfileReader::later);
  find_places(ranks);
  return ranks;
}

std::optional<std::vector<JobProfile>> read_all(const std::vector<std::string>& files) {
  std::vector<JobProfile> out;
  for (const std::string& file : files) {
    std::error_code problem;
    const bool is_folder = std::filesystem::is_directory(file, problem);
    Result<JobProfile> ranks = is_folder ? Result<JobProfile>(read_folder(file)) : read_profile(file);
    if (!ranks) return say(Level::error, "{}", ranks.error().message()), std::nullopt;
    if (ranks->empty()) return say(Level::error, "{}: no rank has left its profile there", file), std::nullopt;
    out.push_back(std::move(*ranks));
  }
  return out;
}

}  // namespace

int profile_command(const std::vector<std::string>& arguments) {
  const std::optional<Options> options = parse(arguments);
  if (!options) return 2;
  if (options->help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  const std::optional<std::vector<JobProfile>> now = read_all(options->files), before = read_all(options->others);
  if (!now || !before) return 1;
  if (!options->output.empty()) {
    if (Error e = write_profile(now->front(), options->output)) {
      say(Level::error, "{}", e.message());
      return 1;
    }
    return 0;
  }
  std::fputs((before->empty() ? profile_page(now->front()) : comparison_page(*before, *now)).c_str(), stdout);
  return 0;
}

}  // namespace tutti::launcher
