// SPDX-License-Identifier: BSD-3-Clause
// tutti-plan COLLECTIVE …: the plan that a collective call would run, as text and as a picture, with its time by the
// model of runtime/model; see kHelp. In libexec, for `tutti plan`: plans belong to the library, which the launcher does
// without.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes_text.hpp"
#include "base/config.hpp"
#include "base/file_text.hpp"
#include "base/log.hpp"
#include "base/nearest.hpp"
#include "coll/algorithm.hpp"
#include "coll/selection.hpp"
#include "model/costs_text.hpp"
#include "model/drawing.hpp"
#include "model/simulation.hpp"

namespace tutti {
namespace {

using coll::Collective;
using coll::Selection;
using model::Moment;
using model::time_text;

constexpr const char* kHelp =
    "Usage: tutti plan COLLECTIVE --ranks N [--nodes M] [--bytes B]\n"
    "                  [--algorithm NAME | --compare] [--rank R] [--svg FILE] [--costs FILE]\n"
    "Prints what one rank does in a collective call (allreduce, bcast, ...), step by step, which rule\n"
    "has chosen that, and how long it takes by a model of a machine. No job is started.\n"
    "  --ranks N         of the communicator\n"
    "  --nodes M         on which they are, equally many on each; default 1\n"
    "  --bytes B         of the vector of bcast, reduce, allreduce, scan and exscan; of the block of one\n"
    "                    rank for all others; also 64k, 16m; default 8\n"
    "  --algorithm NAME  that one, not the one that the rules choose\n"
    "  --compare         all algorithms of the collective, the fastest first\n"
    "  --rank R          whose steps are printed; default 0\n"
    "  --svg FILE        a picture of all ranks: time across, ranks down\n"
    "  --costs FILE      what things cost on the machine, as './dev bench model' prints it; - is standard input\n"
    "Rules of your own count as in a job: the settings collectives.rules and collectives.override.\n"
    "Without --costs the model's figures are those of docs/scale.md: it ranks algorithms, and foretells no "
    "microseconds.\n";

constexpr int kMostRanks = 1 << 24;
constexpr size_t kMostSteps = 400;  // that are printed

// All of whose blocks are equally long here.
constexpr Collective kOffered[] = {Collective::barrier,
                                   Collective::bcast,
                                   Collective::gather,
                                   Collective::scatter,
                                   Collective::allgather,
                                   Collective::allgatherv,
                                   Collective::alltoall,
                                   Collective::reduce,
                                   Collective::allreduce,
                                   Collective::scan,
                                   Collective::exscan,
                                   Collective::reduce_scatter,
                                   Collective::reduce_scatter_block};

struct Question {
  model::Job job;
  model::Ask ask;
  std::string algorithm, svg;
  bool compares = false;
  int rank = 0;
  model::Costs costs;
};

template <class... Args>
std::nullopt_t refuse(fmt::format_string<Args...> format, Args&&... args) {
  say(Level::error, format, std::forward<Args>(args)...);
  return std::nullopt;
}

// With k, m or g behind it.
std::optional<int64_t> number_of(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  if (error != std::errc() || value < 0 || unit.size() > 1) return std::nullopt;
  constexpr std::string_view kUnits = "kmg";
  if (unit.empty()) return value;
  const size_t at = kUnits.find(static_cast<char>(unit[0] | 0x20));
  if (at == kUnits.npos || value > INT64_MAX >> 10 * (at + 1)) return std::nullopt;
  return value << 10 * (at + 1);
}

std::optional<Collective> offered(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Collective kind : kOffered) {
    if (coll::name_of(kind) == name) return kind;
    names.push_back(coll::name_of(kind));
  }
  const std::string meant = did_you_mean(name, names);
  return refuse("there is no plan to show of a collective '{}'{}", name,
                meant.empty() ? fmt::format("; there are {}", fmt::join(names, ", ")) : meant);
}

// The options behind the collective's name, by name.
std::optional<std::map<std::string_view, std::string_view>> options_of(const std::vector<std::string_view>& words) {
  constexpr std::string_view kOptions[] = {"--ranks",   "--nodes", "--bytes", "--algorithm",
                                           "--compare", "--rank",  "--svg",   "--costs"};
  std::map<std::string_view, std::string_view> given;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string_view name = words[i].substr(0, words[i].find('='));
    if (!std::ranges::count(kOptions, name))
      return refuse("tutti plan has no option '{}'{}", words[i], did_you_mean(name, kOptions));
    if (given.contains(name)) return refuse("{} is given twice", name);
    if (name == "--compare") {
      if (name != words[i]) return refuse("--compare takes no value, and not '{}'", words[i]);
      given[name] = "";
    } else if (name != words[i]) {
      given[name] = words[i].substr(name.size() + 1);
    } else if (i + 1 < words.size()) {
      given[name] = words[++i];
    } else {
      return refuse("{} wants a value", name);
    }
  }
  return given;
}

std::optional<model::Costs> costs_of(const std::string& file) {
  const Result<std::string> text = text_of(file == "-" ? "/dev/stdin" : file);
  if (!text) return refuse("--costs: {}: {}", file, text.error().message());
  Result<model::Costs> costs = model::costs_of_text(*text);
  if (!costs) return refuse("--costs: {}: {}", file, costs.error().message());
  return *costs;
}

std::optional<Question> question_of(const std::vector<std::string_view>& words) {
  Question out;
  const std::optional<Collective> kind = offered(words[0]);
  if (!kind) return std::nullopt;
  const auto given = options_of(words);
  if (!given) return std::nullopt;
  const auto number = [&](std::string_view name, int64_t fallback, int64_t least,
                          int64_t most) -> std::optional<int64_t> {
    const auto at = given->find(name);
    if (at == given->end()) return fallback;
    const std::optional<int64_t> value = number_of(at->second);
    if (!value || *value < least || *value > most)
      return refuse("{} wants a number from {} to {}, not '{}'", name, least, most, at->second);
    return value;
  };
  if (!given->contains("--ranks")) return refuse("how many ranks? tutti plan {} --ranks 8", words[0]);
  const auto ranks = number("--ranks", 1, 1, kMostRanks);
  if (!ranks) return std::nullopt;
  const auto nodes = number("--nodes", 1, 1, *ranks);
  const auto bytes = number("--bytes", 8, 0, int64_t{1} << 40);
  const auto rank = number("--rank", 0, 0, *ranks - 1);
  if (!nodes || !bytes || !rank) return std::nullopt;
  out.job = {static_cast<int>(*ranks), static_cast<int>((*ranks + *nodes - 1) / *nodes)};
  out.ask = {*kind, *kind == Collective::barrier ? 0 : *bytes};
  out.rank = static_cast<int>(*rank);
  out.compares = given->contains("--compare");
  if (const auto at = given->find("--algorithm"); at != given->end()) out.algorithm = at->second;
  if (const auto at = given->find("--svg"); at != given->end()) out.svg = at->second;
  if (const auto at = given->find("--costs"); at != given->end()) {
    const std::optional<model::Costs> costs = costs_of(std::string(at->second));
    if (!costs) return std::nullopt;
    out.costs = *costs;
  }
  if (coll::row_of(*kind).reduces && out.ask.bytes % 8 != 0)
    return refuse("a reduction is of elements of 8 bytes here: --bytes {} is no multiple", out.ask.bytes);
  if (out.compares && (!out.algorithm.empty() || !out.svg.empty()))
    return refuse("--compare shows all algorithms in a table: without --algorithm and --svg");
  if (!out.svg.empty() && out.job.ranks > model::kMostRanksDrawn)
    return refuse("a picture of {} ranks shows nothing: up to {}", out.job.ranks, model::kMostRanksDrawn);
  return out;
}

// ---- the call

class Call {
 public:
  explicit Call(const Question& question)
      : question_(question),
        calls_(question.job, question.ask),
        nodes_(NodeLayout(places(question.job), 0).seen_by(question.rank)),
        shape_(calls_.shape(question.rank, nodes_)) {}
  Call(const Call&) = delete;

  const coll::Shape& shape() const { return shape_; }
  const NodeLayout& nodes() const { return nodes_; }

 private:
  static std::vector<int> places(const model::Job& job) {
    std::vector<int> all(static_cast<size_t>(job.ranks));
    for (int r = 0; r < job.ranks; ++r) all[static_cast<size_t>(r)] = r / job.node_ranks;
    return all;
  }
  const Question& question_;
  const model::Calls calls_;
  const NodeLayout nodes_;
  const coll::Shape shape_;
};

std::string call_text(const Question& question) {
  std::string text(coll::name_of(question.ask.kind));
  if (question.ask.kind != Collective::barrier) text += " of " + bytes_text(static_cast<double>(question.ask.bytes));
  text += fmt::format(" on {} rank{}", question.job.ranks, question.job.ranks == 1 ? "" : "s");
  if (question.job.nodes() > 1) text += fmt::format(", {} nodes of {}", question.job.nodes(), question.job.node_ranks);
  return text;
}

// Those of a job, with a rule in front of them; nullptr: it is said why not.
std::shared_ptr<const Selection> rules_with(const std::string& first) {
  const Result<Config> config = Config::load();
  if (!config) return say(Level::error, "{}", config.error().message()), nullptr;
  const std::string_view own = config->text("collectives.override");
  auto loaded = Selection::load(first.empty() ? std::string(own) : fmt::format("{};{}", first, own),
                                std::string(config->text("collectives.rules")));
  if (!loaded) return say(Level::error, "{}", loaded.error().message()), nullptr;
  return *loaded;
}

// Of the whole call alone, not of the parts on a node of which it may be put together.
std::string rule_of(const Question& question, std::string_view algorithm) {
  return fmt::format("{} ranks={} nodes={} {}", coll::name_of(question.ask.kind), question.job.ranks,
                     question.job.nodes(), algorithm);
}

void print_outcome(const Question& question, const model::Outcome& outcome) {
  const model::Bound bound = model::bound_of(question.costs, question.job, question.ask);
  if (!outcome.whole) {
    fmt::print("time: not known: {}\n", outcome.why);
  } else {
    const double least = bound.seconds();
    fmt::print("time by the model: {}", time_text(outcome.seconds));
    if (least > 0)
      fmt::print("; no plan takes less than {} ({})", time_text(least),
                 least == bound.rounds ? "its rounds"
                 : least == bound.card ? "bytes through a node's card"
                                       : "bytes through a core");
    fmt::print("\n");
  }
  if (question.job.nodes() > 1 && outcome.whole)
    fmt::print("a node sends {} message{}, {}\n", outcome.card_messages, outcome.card_messages == 1 ? "" : "s",
               bytes_text(static_cast<double>(outcome.card_bytes)));
}

bool write_picture(const Question& question, const std::string& algorithm, std::vector<Moment> moments) {
  if (moments.size() > model::kMostStepsDrawn) {
    say(Level::error, "a picture of {} steps shows nothing: up to {}; try fewer ranks", moments.size(),
        model::kMostStepsDrawn);
    return false;
  }
  const std::string page =
      model::drawing_of(question.job, std::move(moments), fmt::format("{}: {}", call_text(question), algorithm));
  std::FILE* const file = std::fopen(question.svg.c_str(), "w");
  bool written = file && std::fwrite(page.data(), 1, page.size(), file) == page.size();
  int why = errno;
  if (file && std::fclose(file) != 0) {
    if (written) why = errno;
    written = false;
  }
  if (!written) {
    say(Level::error, "cannot write {}: {}", question.svg, std::strerror(why));
    struct stat what;
    if (file && ::stat(question.svg.c_str(), &what) == 0 && S_ISREG(what.st_mode)) ::unlink(question.svg.c_str());
    return false;
  }
  fmt::print("picture: {}\n", question.svg);
  return true;
}

void print_steps(const coll::Plan& plan, const Question& question, const std::vector<Moment>& moments) {
  fmt::print("\nrank {}{}:\n", question.rank, plan.steps.empty() ? " does nothing" : "");
  std::vector<uint32_t> line_of;  // by step: those of all trips of a loop are one line
  (void)unrolled(plan, &line_of);
  std::map<uint32_t, Moment> of;  // by line
  for (const Moment& moment : moments) {
    if (moment.rank != question.rank) continue;
    const auto [at, is_first] = of.emplace(line_of[moment.step], moment);
    if (is_first) continue;
    at->second.from = std::min(at->second.from, moment.from);
    at->second.over = std::max(at->second.over, moment.over);
  }
  if (!plan.steps.empty()) fmt::print("{:>10} {:>10}  step\n", of.empty() ? "" : "from us", of.empty() ? "" : "to us");
  std::string_view rest;
  const std::string text = to_string(plan);
  rest = text;
  for (uint32_t i = 0; !rest.empty(); ++i) {
    if (i == kMostSteps) {
      fmt::print("... and {} more\n", plan.written_steps() - i);
      break;
    }
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() + 1);
    const auto at = of.find(i);
    if (at == of.end())
      fmt::print("{:>10} {:>10} {}\n", "", "", line);
    else
      fmt::print("{:>10.2f} {:>10.2f} {}\n", at->second.from * 1e6, at->second.over * 1e6, line);
  }
}

int show(const Question& question) {
  const Call call(question);
  std::string only;
  if (!question.algorithm.empty()) {
    std::vector<std::string_view> names;
    const coll::Algorithm* named = nullptr;
    for (const coll::Algorithm& each : coll::algorithms(question.ask.kind)) {
      names.push_back(each.name);
      if (each.name == question.algorithm) named = &each;
    }
    if (!named) {
      say(Level::error, "{} has no algorithm '{}'{}; there are {}", coll::name_of(question.ask.kind),
          question.algorithm, did_you_mean(question.algorithm, names), fmt::join(names, ", "));
      return 2;
    }
    if (const std::string_view why = objection(*named, call.shape()); !why.empty()) {
      say(Level::error, "{} cannot serve {}: {}", named->name, call_text(question), why);
      return 2;
    }
    only = rule_of(question, named->name);
  }
  const std::shared_ptr<const Selection> rules = rules_with(only);
  if (!rules) return 2;
  const coll::Algorithm& algorithm = rules->choose(call.shape());
  const std::string place = only.empty() ? rules->chosen_by(call.shape()) : "";
  fmt::print("{}\n", call_text(question));
  fmt::print("algorithm: {} ({}){}\n", algorithm.name, algorithm.when,
             place.empty() ? "" : fmt::format(", by {}", place));
  coll::Shape shape = call.shape();
  shape.rules = rules.get();
  const coll::Plan plan = algorithm.build(shape);
  std::vector<Moment> moments;
  const model::Recorder record = [&](const Moment& moment) {
    if (!question.svg.empty() || moment.rank == question.rank) moments.push_back(moment);
  };
  // Where one node stands for all, its own ranks alone are recorded.
  const bool all = !question.svg.empty() || question.job.ranks <= model::kMostRanksDrawn;
  const model::Outcome outcome =
      all ? model::simulate(question.costs, question.job, question.ask, *rules, model::Ranks::all, record)
          : model::simulate(question.costs, question.job, question.ask, *rules, record);
  print_outcome(question, outcome);
  fmt::print("longest plan: {} step{}, {}; scratch {}\n", outcome.steps, outcome.steps == 1 ? "" : "s",
             bytes_text(static_cast<double>(outcome.plan_bytes)),
             bytes_text(static_cast<double>(outcome.scratch_bytes)));
  const bool drawn = question.svg.empty() || write_picture(question, std::string(algorithm.name), moments);
  print_steps(plan, question, moments);
  return drawn ? 0 : 1;
}

int compare(const Question& question) {
  const Call call(question);
  struct Row {
    std::string_view name, why;
    model::Outcome outcome;
  };
  std::vector<Row> rows;
  for (const coll::Algorithm& each : coll::algorithms(question.ask.kind)) {
    Row row{.name = each.name, .why = objection(each, call.shape()), .outcome = {}};
    if (row.why.empty())
      if (const auto rules = rules_with(rule_of(question, each.name)))
        row.outcome = model::simulate(question.costs, question.job, question.ask, *rules);
    rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(rows, {}, [](const Row& row) {
    return std::pair(!row.outcome.whole, row.outcome.whole ? row.outcome.seconds : 0);
  });
  const std::shared_ptr<const Selection> rules = rules_with("");
  if (!rules) return 2;
  const std::string_view chosen = rules->choose(call.shape()).name;
  const double least = model::bound_of(question.costs, question.job, question.ask).seconds();
  fmt::print("{}\n{:<24} {:>10} {:>7} {:>9} {:>10} {:>10}\n", call_text(question), "algorithm", "us", "/bound", "steps",
             "plan", "scratch");
  for (const Row& row : rows) {
    const std::string name = fmt::format("{}{}", row.name, row.name == chosen ? " (rules)" : "");
    if (!row.why.empty())
      fmt::print("{:<24} {}\n", name, row.why);
    else if (!row.outcome.whole)
      fmt::print("{:<24} {}\n", name, row.outcome.why);
    else
      fmt::print("{:<24} {:>10.2f} {:>7} {:>9} {:>10} {:>10}\n", name, row.outcome.seconds * 1e6,
                 least > 0 ? fmt::format("{:.2f}", row.outcome.seconds / least) : "", row.outcome.steps,
                 bytes_text(static_cast<double>(row.outcome.plan_bytes)),
                 bytes_text(static_cast<double>(row.outcome.scratch_bytes)));
  }
  return 0;
}

}  // namespace
}  // namespace tutti

int main(int argc, char** argv) {
  using namespace tutti;
  const std::vector<std::string_view> words(argv + (argc > 0), argv + argc);
  if (words.empty() || std::ranges::count(words, "--help") || std::ranges::count(words, "-h")) {
    std::fputs(kHelp, stdout);
    return words.empty() ? 2 : 0;
  }
  const std::optional<Question> question = question_of(words);
  if (!question) return 2;
  const int code = question->compares ? compare(*question) : show(*question);
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  say(Level::error, "cannot write standard output: {}", std::strerror(errno));
  return 1;
}
