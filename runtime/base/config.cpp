// SPDX-License-Identifier: BSD-3-Clause
#include "base/config.hpp"

#include <dlfcn.h>
#include <unistd.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <sstream>

#include "base/file_text.hpp"
#include "base/log.hpp"
#include "base/nearest.hpp"
#include "mpi.h"

extern char** environ;

namespace tutti {
namespace {

namespace fs = std::filesystem;
using enum SettingKind;

// One row a setting, in the order of `tutti info --config` and of the manual page.
constexpr Setting kSettings[] = {
    {"log.level", choice, "note", "error|warning|note|debug", "The most talkative kind of line to print"},
    {"launch.rsh", text, "ssh", kNotEmpty, "Command (with arguments) that starts a daemon on another node"},
    {"launch.fan_out", number, "32", "1..1024",
     "How many daemons one starts by launch.rsh, each of which starts as many others"},
    {"launch.pmix_ranks", number, "64", "0..1000000000",
     "PMIx is told of each rank of a job of up to so many; of a larger one of up to so many of the node's own"},
    {"launch.connect_timeout", duration, "30s", "100ms..1440min", "How long another node's daemon may take to report"},
    {"launch.node_timeout", duration, "1500ms", "500ms..1440min", "Silence of a node's network that counts as its end"},
    {"launch.kill_grace", duration, "1s", "", "Time between the request to end and the kill of a rank"},
    {"launch.map_by", text, "slot", kNotEmpty, "Default of --map-by"},
    {"launch.bind_to", choice, "auto", "auto|none|hwthread|core|l2cache|l3cache|numa|socket",
     "Default of --bind-to; auto: core, or none with more ranks than cores"},
    {"launch.share_cores", flag, "off", "",
     "Ranks are bound also to cores that another job of yours on the node is bound to"},
    {"launch.foreign_mpi", flag, "off", "",
     "Programs that are built for another MPI are started, each rank as a job of its own"},
    {"launch.rank_variables", flag, "on", "",
     "Ranks find their number, and the job's size, also in variables as Open MPI and MPICH name them"},
    {"transport.shared_memory", flag, "on", "", "Messages on a node go through shared memory, not UCX"},
    {"transport.cma", choice, "auto", "auto|on|off",
     "Long messages on a node are read from the sender's memory where the kernel allows it; auto: and where that is "
     "faster"},
    {"transport.ucx_tls", text, "", "", "UCX transports (its UCX_TLS); empty leaves the choice to UCX"},
    {"progress.thread", flag, "on", "", "Progress of started operations while the program computes"},
    {"progress.tick_min", duration, "200us", "1us..1min", "Shortest tick of the progress thread"},
    {"progress.tick_max", duration, "4ms", "1us..1min", "Longest tick of the progress thread"},
    {"wait.spins", number, "20000", "0..1000000000", "Polls of a waiting call before it yields its core"},
    {"wait.spread", flag, "on", "",
     "With more ranks than cores those that wait spread evenly over the cores that they may use"},
    {"failure.action", choice, "end", "end|continue|continue:exit=first",
     "What the failure of a rank does: it ends the job, or the others go on; default of --on-failure"},
    {"failure.heartbeat", duration, "1s", "100ms..60min",
     "How often nodes of a job that goes on tell each other that they live; three that stay out are the end of one"},
    {"process.connect_timeout", duration, "10min", "",
     "How long MPI_Comm_connect waits for MPI_Comm_accept to be called; 0s: for ever"},
    {"rma.direct", choice, "auto", "auto|on|off",
     "Operations on windows of a node are loads and stores; auto: unless a sanitizer looks on"},
    {"profile.page", flag, "off", "",
     "Where the time goes is summed up, and mpirun prints it at the end of the job; what --profile sets"},
    {"profile.file", text, "", "",
     "Ranks keep a timeline, too, and mpirun leaves the profile in this file; what --profile=FILE sets"},
    {"contract.stress", text, "off", "", "Extremes of what the standard allows: off, sync, loose, random:SEED"},
    {"collectives.rules", text, "", "", "File of rules that select algorithms; empty: the shipped ones"},
    {"collectives.override", text, "", "", "Rules that come before those, divided by ';'"},
    {"contract.check", choice, "basic", "off|basic|strict",
     "Whether wrong use of MPI is looked for: mismatched collectives, deadlocks; default of "
     "--check"},
    {"contract.report_only", flag, "off", "", "A finding is printed, and the program goes on as if there were none"},
    {"contract.ask_after", duration, "300ms", "",
     "A call that waits so long asks those that it waits for what they are doing"},
    {"contract.standstill", duration, "3s", "", "How long ranks must stand still before a deadlock is looked for"},
};

// Variables with our prefix that are no settings: what the launcher tells its ranks, what module
// files commonly set, and what test programs use among themselves.
constexpr std::string_view kOtherVariables[] = {"TUTTI_SETTINGS_RESOLVED",
                                                "TUTTI_JOB",
                                                "TUTTI_ROOT",
                                                "TUTTI_OWNER",
                                                "TUTTI_NODE_CORES",
                                                "TUTTI_LAUNCHER",
                                                "TUTTI_PSETS",
                                                "TUTTI_SOCKET_RANKS",
                                                "TUTTI_NODE_PLACES",
                                                "TUTTI_MEMORY_ALLOC_KINDS",
                                                "TUTTI_ALLOCATION",
                                                "TUTTI_JOB_FOLDER",
                                                "TUTTI_APPNUM",
                                                "TUTTI_RANK",
                                                "TUTTI_SIZE",
                                                "TUTTI_LOCAL_RANK",
                                                "TUTTI_LOCAL_SIZE",
                                                "TUTTI_STOP_ON_START",
                                                "TUTTI_PARENT",
                                                "TUTTI_PARENT_SOCKET",
                                                "TUTTI_INITIAL_ERRHANDLER",
                                                "TUTTI_NAMES",
                                                "TUTTI_CC",
                                                "TUTTI_CXX",
                                                "TUTTI_HOME",
                                                "TUTTI_DIR",
                                                "TUTTI_PREFIX",
                                                "TUTTI_LONG"};  // ./dev test --all says so to tests
constexpr std::string_view kTestPrefix = "TUTTI_TEST_";

std::array<std::string_view, std::size(kSettings)> setting_names() {
  std::array<std::string_view, std::size(kSettings)> names;
  std::transform(std::begin(kSettings), std::end(kSettings), names.begin(), [](const Setting& s) { return s.name; });
  return names;
}

bool is_setting(const std::string& name) {
  return std::ranges::any_of(kSettings, [&](const Setting& s) { return s.name == name; });
}

bool is_group(const std::string& name) {
  return std::ranges::any_of(kSettings, [&](const Setting& s) { return s.name.starts_with(name + "."); });
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::optional<int64_t> parse_flag(const std::string& word) {
  for (const char* on : {"on", "true", "yes", "1"})
    if (word == on) return 1;
  for (const char* off : {"off", "false", "no", "0"})
    if (word == off) return 0;
  return {};
}

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kSizeUnits[] = {{"", 1},        {"b", 1},         {"k", 1024},       {"kib", 1024},
                               {"m", 1048576}, {"mib", 1048576}, {"g", 1073741824}, {"gib", 1073741824}};
constexpr Unit kTimeUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}};

std::optional<int64_t> parse_with_unit(const std::string& word, std::span<const Unit> units) {
  double amount = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), amount);
  if (problem != std::errc() || amount < 0) return {};
  std::string_view unit(end, static_cast<size_t>(word.data() + word.size() - end));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit.empty() && amount == 0) return 0;
  for (const Unit& u : units)
    if (unit == u.name && amount * u.factor < 9e18) return static_cast<int64_t>(std::llround(amount * u.factor));
  return {};
}

std::optional<int64_t> parse_number(const std::string& word, std::string_view allowed) {
  int64_t value = 0, low = INT64_MIN, high = INT64_MAX;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (problem != std::errc() || end != word.data() + word.size()) return {};
  if (const size_t dots = allowed.find(".."); dots != allowed.npos) {
    std::from_chars(allowed.data(), allowed.data() + dots, low);
    std::from_chars(allowed.data() + dots + 2, allowed.data() + allowed.size(), high);
  }
  return value < low || value > high ? std::nullopt : std::optional(value);
}

std::optional<int64_t> parse_duration(const std::string& word, std::string_view allowed) {
  const std::optional<int64_t> value = parse_with_unit(word, kTimeUnits);
  const size_t dots = allowed.find("..");
  if (!value || dots == allowed.npos) return value;
  const auto low = parse_with_unit(std::string(allowed.substr(0, dots)), kTimeUnits);
  const auto high = parse_with_unit(std::string(allowed.substr(dots + 2)), kTimeUnits);
  return *value < *low || *value > *high ? std::nullopt : value;
}

// Blanks are as empty as nothing.
std::optional<int64_t> parse_text(const std::string& word, std::string_view allowed) {
  return allowed == kNotEmpty && word.find_first_not_of(" \t") == word.npos ? std::nullopt : std::optional(0);
}

std::optional<int64_t> parse_choice(const std::string& word, std::string_view allowed) {
  for (int64_t index = 0; !allowed.empty(); ++index) {
    const size_t bar = std::min(allowed.find('|'), allowed.size());
    if (allowed.substr(0, bar) == word) return index;
    allowed.remove_prefix(std::min(bar + 1, allowed.size()));
  }
  return {};
}

std::optional<int64_t> parse(const Setting& setting, const std::string& written) {
  const std::string word = lower(written);
  switch (setting.kind) {
    case flag:
      return parse_flag(word);
    case number:
      return parse_number(word, setting.allowed);
    case text:
      return parse_text(word, setting.allowed);
    case choice:
      return parse_choice(word, setting.allowed);
    case size:
      return parse_with_unit(word, kSizeUnits);
    case duration:
      return parse_duration(word, setting.allowed);
  }
  return {};
}

std::string expectation(const Setting& setting) {
  switch (setting.kind) {
    case flag:
      return "on or off";
    case number:
      return fmt::format("a whole number in {}", setting.allowed);
    case text:
      return setting.allowed == kNotEmpty ? "text, and not empty" : "text";
    case choice:
      return fmt::format("one of {}", setting.allowed);
    case size:
      return "a size such as 512, 64k or 2m";
    case duration:
      return fmt::format("a time such as 200us, 16ms or 2s{}{}", setting.allowed.empty() ? "" : ", in ",
                         setting.allowed);
  }
  return "";
}

// This object's own file: the library when we are linked into it, else the program.
fs::path own_file() {
  Dl_info info{};
  std::error_code problem;
  if (::dladdr(reinterpret_cast<const void*>(&own_file), &info) && info.dli_fname &&
      std::string_view(info.dli_fname).find(".so") != std::string_view::npos)
    return fs::canonical(info.dli_fname, problem);
  return fs::canonical("/proc/self/exe", problem);
}

// Where the documents of a file begin.
class Beginnings final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { marks.push_back(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
  std::vector<YAML::Mark> marks;
};

// A settings file is one document. YAML::LoadAll() reads documents until there are none, and takes nothing from a file
// that goes on with what can begin none, such as a comma: it would read the same one for ever.
Error check_documents(const std::string& text, const std::string& file) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Beginnings found;
  if (!parser.HandleNextDocument(found) || !parser.HandleNextDocument(found)) return {};
  const YAML::Mark& second = found.marks.back();
  const bool marked =
      second.pos >= 0 &&
      std::string_view(text).substr(std::min(text.size(), static_cast<size_t>(second.pos))).starts_with("---");
  if (marked)
    return failure(MPI_ERR_ARG, "{}:{}: a second document begins here, with '---'; join the two", file,
                   second.line + 1);
  return failure(MPI_ERR_ARG,
                 "{}:{}: what stands here is not part of anything before it; expected lines such as 'log.level: note', "
                 "each indented as the others of its group",
                 file, second.line + 1);
}

}  // namespace

std::span<const Setting> settings() {
  return kSettings;
}

std::string_view kind_name(SettingKind kind) {
  constexpr std::string_view names[] = {"flag", "number", "text", "choice", "size", "duration"};
  return names[static_cast<int>(kind)];
}

std::string variable_of(std::string_view setting) {
  std::string variable = "TUTTI_";
  for (char c : setting) variable += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return variable;
}

fs::path installation_root() {
  const fs::path folder = own_file().parent_path();
  for (fs::path at = folder; at.has_relative_path(); at = at.parent_path())
    if (at.filename() == "bin" || at.filename() == "libexec" || at.filename() == "lib" || at.filename() == "lib64")
      return at.parent_path();
  return folder.parent_path();
}

fs::path installed_settings_folder() {
  std::error_code problem;
  // A package under /usr keeps its settings in /etc.
  for (fs::path root = installation_root();; root = root.parent_path()) {
    if (fs::is_directory(root / "etc/tutti", problem)) return root / "etc/tutti";
    if (root != "/usr" && root != "/usr/local") return {};
  }
}

SettingSources SettingSources::of_this_process() {
  SettingSources sources;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view pair = *entry;
    if (const size_t equals = pair.find('='); pair.starts_with("TUTTI_") && equals != pair.npos)
      sources.environment.emplace(pair.substr(0, equals), pair.substr(equals + 1));
  }
  if (sources.environment.contains(kSettingsResolved)) return sources;
  if (const fs::path folder = installed_settings_folder(); !folder.empty()) sources.system_file = folder / "tutti.yaml";
  if (const char* xdg = ::getenv("XDG_CONFIG_HOME"); xdg && *xdg)
    sources.user_file = fs::path(xdg) / "tutti/tutti.yaml";
  else if (const char* home = ::getenv("HOME"); home && *home)
    sources.user_file = fs::path(home) / ".config/tutti/tutti.yaml";
  return sources;
}

Config::Config() {
  for (const Setting& s : kSettings) {
    const std::optional<int64_t> number = parse(s, std::string(s.fallback));
    TUTTI_INVARIANT(number, "a built-in default is of its setting's kind");
    values_.push_back({&s, std::string(s.fallback), *number, "default"});
  }
}

Error Config::set(std::string_view name, const std::string& text, const std::string& origin) {
  for (Value& value : values_) {
    if (value.setting->name != name) continue;
    const std::optional<int64_t> number = parse(*value.setting, text);
    if (!number)
      return failure(MPI_ERR_ARG, "{}: '{}' is not a value of {}, which is {}", origin, text, name,
                     expectation(*value.setting));
    value.text = text;
    value.number = *number;
    value.origin = origin;
    return {};
  }
  return failure(MPI_ERR_ARG, "{}: there is no setting '{}'{}", origin, name, did_you_mean(name, setting_names()));
}

Error Config::read_file(const fs::path& file) {
  std::error_code problem;
  if (file.empty() || !fs::exists(file, problem)) return {};
  struct Reader {
    Config& config;
    const fs::path& file;
    std::map<std::string, int> lines{};  // where each name was met, headings too
    Error map(const YAML::Node& node, const std::string& prefix) {
      for (const auto& entry : node) {
        const YAML::Node &key = entry.first, &value = entry.second;
        const int line = key.Mark().line + 1;
        const std::string origin = fmt::format("{}:{}", file.string(), line);
        if (!key.IsScalar()) return failure(MPI_ERR_ARG, "{}: a name is expected here", origin);
        const std::string name = prefix + key.Scalar();
        // Whichever of the two held, the other one would be ignored in silence.
        if (const auto [first, fresh] = lines.emplace(name, line); !fresh)
          return failure(MPI_ERR_ARG, "{}: {} stands in line {} already; join the two", origin, name, first->second);
        if (value.IsNull() && is_group(name)) continue;  // a heading with nothing below it
        if (value.IsMap() && is_group(name)) {           // only these: an anchor may contain itself
          if (Error e = map(value, name + ".")) return e;
        } else if (value.IsSequence() || (value.IsMap() && is_setting(name))) {
          return failure(MPI_ERR_ARG, "{}: {} takes one value, not a list", origin, name);
        } else if (Error e = config.set(name, value.IsScalar() ? value.Scalar() : "", origin)) {
          return e;
        }
      }
      return {};
    }
  };
  const Result<std::string> text = text_of(file.string());
  if (!text) return failure(MPI_ERR_ARG, "{}: cannot be read ({})", file.string(), text.error().message());
  try {
    if (Error e = check_documents(*text, file.string())) return e;
    const YAML::Node root = YAML::Load(*text);
    if (root.IsNull()) return {};
    if (!root.IsMap())
      return failure(MPI_ERR_ARG, "{}:{}: expected lines such as 'log.level: note'", file.string(),
                     root.Mark().line + 1);
    return Reader{.config = *this, .file = file}.map(root, "");
  } catch (const YAML::Exception& e) {
    return failure(MPI_ERR_ARG, "{}:{}: {}", file.string(), e.mark.line + 1, e.msg);
  }
}

Error Config::read_environment(const std::map<std::string, std::string>& environment) {
  std::map<std::string, std::string_view> by_variable;
  for (const Setting& s : kSettings) by_variable.emplace(variable_of(s.name), s.name);
  for (const auto& [variable, text] : environment) {
    if (const auto found = by_variable.find(variable); found != by_variable.end()) {
      if (Error e = set(found->second, text, variable)) return e;
      continue;
    }
    if (variable.starts_with(kTestPrefix) || std::ranges::count(kOtherVariables, variable)) continue;
    std::vector<std::string_view> known;
    for (const auto& [name, setting] : by_variable) known.push_back(name);
    return failure(MPI_ERR_ARG, "environment: {} is not a setting{}", variable, did_you_mean(variable, known));
  }
  return {};
}

Result<Config> Config::load(const std::vector<GivenSetting>& command_line) {
  return load(command_line, SettingSources::of_this_process());
}

Result<Config> Config::load(const std::vector<GivenSetting>& command_line, const SettingSources& sources) {
  Config config;
  if (Error e = config.read_file(sources.system_file)) return e;
  if (Error e = config.read_file(sources.user_file)) return e;
  if (Error e = config.read_environment(sources.environment)) return e;
  for (const GivenSetting& given : command_line)
    if (Error e = config.set(given.name, given.value, given.origin)) return e;
  const Value &shortest = config.value("progress.tick_min"), &longest = config.value("progress.tick_max");
  if (shortest.number > longest.number)
    return failure(MPI_ERR_ARG, "progress.tick_min ({}, from: {}) is longer than progress.tick_max ({}, from: {})",
                   shortest.text, shortest.origin, longest.text, longest.origin);
  return config;
}

const Config::Value& Config::value(std::string_view name) const {
  for (const Value& v : values_)
    if (v.setting->name == name) return v;
  invariant_broken(__FILE__, __LINE__, fmt::format("no setting '{}'", name));
}

bool Config::flag(std::string_view name) const {
  const Value& v = value(name);
  TUTTI_INVARIANT(v.setting->kind == SettingKind::flag, "the setting is a flag");
  return v.number != 0;
}

int64_t Config::number(std::string_view name) const {
  const Value& v = value(name);
  TUTTI_INVARIANT(v.setting->kind == SettingKind::number || v.setting->kind == SettingKind::size,
                  "the setting is a number");
  return v.number;
}

std::chrono::nanoseconds Config::duration(std::string_view name) const {
  const Value& v = value(name);
  TUTTI_INVARIANT(v.setting->kind == SettingKind::duration, "the setting is a duration");
  return std::chrono::nanoseconds(v.number);
}

std::string_view Config::text(std::string_view name) const {
  return value(name).text;
}

std::vector<std::string> Config::as_environment() const {
  std::vector<std::string> out{std::string(kSettingsResolved) + "=1"};
  for (const Value& v : values_)
    if (v.text != v.setting->fallback) out.push_back(variable_of(v.setting->name) + "=" + v.text);
  return out;
}

}  // namespace tutti
