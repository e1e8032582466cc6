// SPDX-License-Identifier: BSD-3-Clause
// `tutti tune`: what this machine's cores make of the choices that Tutti ships, which were measured on others. Starts jobs of
// its own by mpirun, one for each choice, in turns; writes settings where another choice is clearly faster. Decides nothing
// for a job that runs: what it has not written down holds nowhere.
#include "launcher/tune/tune.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "base/bytes_text.hpp"
#include "base/config.hpp"
#include "base/log.hpp"
#include "launcher/ask/talker.hpp"
#include "launcher/place/topology.hpp"
#include "launcher/tune/choice.hpp"
#include "launcher/tune/tuned_file.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

constexpr const char* kHelp =
    "Usage: tutti tune [-o FILE] [--print] [--rounds N] [--longest BYTES]\n"
    "Measures on two cores of this machine, in half a minute, whether other choices than the shipped ones\n"
    "are faster here: algorithms of collectives between two ranks of a node, and whether long messages\n"
    "are read from the sender's memory. What is clearly faster is written as settings into FILE; without\n"
    "-o into yours, ~/.config/tutti/tutti.yaml. Other settings in it stay as they are.\n"
    "  --print          print these settings alone, and write nothing\n"
    "  --rounds N       how often each choice is measured (5)\n"
    "  --longest BYTES  of the longest block (4m)\n";

constexpr std::chrono::seconds kPatience{120};
constexpr int kMostRounds = 100;
constexpr int64_t kShortestMessage = 64 << 10;  // of those that ranks.c measures

struct TuneOptions {
  bool help = false, print = false;
  std::string file;
  int rounds = 5;
  int64_t longest = 4 << 20;
};

// 1 and more; with k or m.
std::optional<int64_t> amount(std::string_view word) {
  int64_t unit = 1;
  if (!word.empty() && (word.back() == 'k' || word.back() == 'm')) {
    unit = word.back() == 'k' ? 1 << 10 : 1 << 20;
    word.remove_suffix(1);
  }
  int64_t number = 0;
  const auto [at, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool is_whole = problem == std::errc() && at == word.data() + word.size();
  if (!is_whole || number < 1 || number > INT32_MAX) return std::nullopt;
  return number * unit;
}

// An empty result has been told.
std::optional<TuneOptions> parse(const std::vector<std::string>& arguments) {
  TuneOptions out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--help" || word == "-h") {
      out.help = true;
    } else if (word == "--print") {
      out.print = true;
    } else if (word == "-o" || word == "--output" || word == "--rounds" || word == "--longest") {
      if (i + 1 == arguments.size() || arguments[i + 1].empty())
        return say(Level::error, "tutti tune: {} needs a value", word), std::nullopt;
      const std::string& value = arguments[++i];
      const std::optional<int64_t> number = amount(value);
      if (word.starts_with("-o") || word == "--output") {
        out.file = value;
      } else if (word == "--rounds") {
        if (!number || *number > kMostRounds)
          return say(Level::error, "tutti tune: --rounds takes a number from 1 to {}, and not '{}'", kMostRounds,
                     value),
                 std::nullopt;
        out.rounds = static_cast<int>(*number);
      } else {
        constexpr int64_t kLeast = 64, kMost = int64_t{64} << 20;
        if (!number || *number < kLeast || *number > kMost)
          return say(Level::error, "tutti tune: --longest takes bytes from 64 to 64m, and not '{}'", value),
                 std::nullopt;
        out.longest = *number;
      }
    } else {
      return say(Level::error, "tutti tune takes -o FILE, --print, --rounds and --longest, not '{}'", word),
             std::nullopt;
    }
  }
  if (out.print && !out.file.empty())
    return say(Level::error, "tutti tune --print writes no file: leave out one of --print and -o"), std::nullopt;
  return out;
}

// ---- measuring

// Which cores the two ranks have.
struct Placement {
  std::string name;
  std::vector<std::string> options;
};

std::vector<Placement> placements_on(const NodeShape& node) {
  std::vector<Placement> out{{"neighbouring cores", {"--map-by", "slot"}}};
  if (node.l3caches > node.sockets) out.push_back({"cores with caches of their own", {"--map-by", "l3cache"}});
  if (node.sockets > 1) out.push_back({"cores of two sockets", {"--map-by", "socket"}});
  return out;
}

std::string own_path() {
  std::error_code problem;
  const std::filesystem::path path = std::filesystem::canonical("/proc/self/exe", problem);
  return problem ? (installation_root() / "bin/tutti").string() : path.string();
}

class Jobs {
 public:
  explicit Jobs(int64_t longest)
      : tutti_(own_path()),
        ranks_((installation_root() / "libexec/tutti/tutti-tune").string()),
        longest_(fmt::format("{}", longest)) {}

  // What a job with these settings takes. An error is what it said.
  Result<Times> run(const Placement& placement, const std::string& what, const std::vector<std::string>& settings) {
    std::vector<std::string> command{tutti_, "run", "-n", "2", "--host", "localhost:2", "--bind-to", "core"};
    command.insert(command.end(), placement.options.begin(), placement.options.end());
    // What the user has set of these is what is to be chosen.
    for (const char* own : {"collectives.override=", "transport.cma=auto"}) add_setting(command, own);
    for (const std::string& setting : settings) add_setting(command, setting);
    command.insert(command.end(), {ranks_, what, longest_});
    Talker job;
    if (!job.begin(command)) return failure(MPI_ERR_OTHER, "tutti run cannot be started: {}", job.text());
    Talker::hear({&job}, kPatience);
    if (!job.has_ended())
      return failure(MPI_ERR_OTHER, "a job of two ranks did not end in {} seconds: is there a core for each?",
                     kPatience.count());
    if (job.exit_code() != 0)
      return failure(MPI_ERR_OTHER, "a job of two ranks ended with exit code {}:\n{}", job.exit_code(), job.text());
    Times times = times_of(job.text());
    if (times.empty()) return failure(MPI_ERR_OTHER, "a job of two ranks measured nothing:\n{}", job.text());
    return times;
  }

 private:
  static void add_setting(std::vector<std::string>& command, const std::string& setting) {
    command.insert(command.end(), {"--set", setting});
  }
  const std::string tutti_, ranks_, longest_;
};

// Each round of each placement: the shipped choice, and what each of `trials` sets.
Result<std::vector<std::vector<Round>>> measure(Jobs& jobs, const std::vector<Placement>& placements, int rounds,
                                                const std::string& what,
                                                const std::vector<std::vector<std::string>>& trials,
                                                const std::vector<std::string>& common) {
  std::vector<std::vector<Round>> out(placements.size());
  for (int round = 0; round < rounds; ++round) {
    for (size_t p = 0; p < placements.size(); ++p) {
      Result<Times> shipped = jobs.run(placements[p], what, common);
      if (!shipped) return std::move(shipped).error();
      Round& taken = out[p].emplace_back();
      taken.shipped = *std::move(shipped);
      for (const std::vector<std::string>& trial : trials) {
        std::vector<std::string> settings = common;
        settings.insert(settings.end(), trial.begin(), trial.end());
        Result<Times> times = jobs.run(placements[p], what, settings);
        if (!times) return std::move(times).error();
        taken.trials.push_back(*std::move(times));
      }
    }
  }
  return out;
}

// ---- the command

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const size_t colon = line.find(": "); colon != line.npos) return line.substr(colon + 2);
  return "a processor without a name";
}

std::string today() {
  char text[32] = "";
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  if (::localtime_r(&now, &parts)) std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

void warn_of_load(int cores) {
  double load = 0;
  if (::getloadavg(&load, 1) == 1 && load > 0.5 * cores)
    say(Level::warning, "this machine is busy (a load of {:.1f} on {} cores): what is measured now may not hold later",
        load, cores);
}

TunedSettings settings_of(const WithoutReading& reading, const std::vector<TunedRule>& rules, int rounds,
                          const std::vector<Placement>& placements) {
  TunedSettings out;
  std::string where;
  for (const Placement& each : placements) where += fmt::format("{}{}", where.empty() ? "" : ", ", each.name);
  out.remarks.push_back(fmt::format("Tutti {}, {}, on {}: {} round{} on {}", TUTTI_VERSION, today(), processor(),
                                    rounds, rounds == 1 ? "" : "s", where));
  if (reading.is_worthwhile) {
    out.remarks.push_back(
        fmt::format("long messages that are not read take {:.0f} % of the time", 100 * reading.ratio));
    out.values.emplace_back("transport.cma", "off");
  }
  for (const TunedRule& rule : rules)
    out.remarks.push_back(
        fmt::format("{} of {}up to {}: {} takes {:.0f} % of the time or less", rule.collective,
                    rule.above > 0 ? fmt::format("more than {} ", bytes_text(static_cast<double>(rule.above))) : "",
                    bytes_text(static_cast<double>(rule.up_to)), rule.algorithm, 100 * rule.ratio));
  if (!rules.empty()) out.values.emplace_back("collectives.override", override_of(rules));
  return out;
}

// The file that is written; empty: none is known, which has been told.
std::string file_for(const TuneOptions& options) {
  if (!options.file.empty()) return options.file;
  SettingSources sources = SettingSources::of_this_process();
  if (sources.user_file.empty())
    say(Level::error, "neither HOME nor XDG_CONFIG_HOME says where your settings are: name a file by -o");
  return sources.user_file.string();
}

Result<TunedSettings> find_out(const TuneOptions& options, const std::vector<Placement>& placements) {
  Jobs jobs(options.longest);
  WithoutReading reading;
  if (options.longest >= kShortestMessage) {
    say(Level::note, "measuring messages, {} round{}", options.rounds, options.rounds == 1 ? "" : "s");
    auto messages = measure(jobs, placements, options.rounds, "messages", {{"transport.cma=off"}}, {});
    if (!messages) return std::move(messages).error();
    reading = without_reading(*messages);
  }
  std::vector<std::vector<std::string>> trials;
  for (size_t place = 0; !rules_of_trial(place).empty(); ++place)
    trials.push_back({"collectives.override=" + rules_of_trial(place)});
  std::vector<std::string> common;
  if (reading.is_worthwhile) common.emplace_back("transport.cma=off");
  say(Level::note, "measuring collectives, {} round{}", options.rounds, options.rounds == 1 ? "" : "s");
  auto collectives = measure(jobs, placements, options.rounds, "collectives", trials, common);
  if (!collectives) return std::move(collectives).error();
  return settings_of(reading, worthwhile(*collectives), options.rounds, placements);
}

}  // namespace

int tune_command(const std::vector<std::string>& arguments) {
  const std::optional<TuneOptions> options = parse(arguments);
  if (!options) return 2;
  if (options->help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  const std::vector<std::string> names{"transport.cma", "collectives.override"};
  const std::string file = options->print ? "" : file_for(*options);
  if (file.empty() && !options->print) return 2;
  const auto fails = [](const Error& error) {
    say(Level::error, "{}", error.message());
    return 1;
  };
  // What would be refused behind half a minute is refused now.
  if (!options->print)
    if (Error e = check_tuned_file(file, names)) return fails(e);
  Result<Topology> machine = Topology::of_this_machine();
  if (!machine) return fails(machine.error());
  if (machine->allowed_cores() < 2) {
    say(Level::error, "tutti tune needs a core for each of its two ranks, and this process may use {}",
        machine->allowed_cores());
    return 1;
  }
  warn_of_load(machine->allowed_cores());
  Result<TunedSettings> settings = find_out(*options, placements_on(machine->shape()));
  if (!settings) return fails(settings.error());
  const std::string lines = tuned_lines(*settings);
  if (options->print) {
    std::fputs(lines.c_str(), stdout);
  } else {
    if (Error e = write_tuned_lines(file, lines, names)) return fails(e);
    for (size_t i = 1; i < settings->remarks.size(); ++i) std::printf("%s\n", settings->remarks[i].c_str());
    if (!lines.empty()) std::printf("written to %s\n", file.c_str());
  }
  if (lines.empty()) say(Level::note, "nothing is clearly faster here than what is shipped: no setting is needed");
  return 0;
}

}  // namespace tutti::launcher
