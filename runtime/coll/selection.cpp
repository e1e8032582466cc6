// SPDX-License-Identifier: BSD-3-Clause
#include "coll/selection.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>

#include "base/file_text.hpp"
#include "base/log.hpp"
#include "base/nearest.hpp"
#include "coll/shared.hpp"
#include "coll/shipped_rules.hpp"

namespace tutti::coll {
namespace {

using Quantity = Clause::Quantity;
using Relation = Clause::Relation;

constexpr std::string_view kQuantities[] = {"bytes",      "rank_bytes", "ranks",       "nodes",
                                            "node_ranks", "read_rate",  "commutative", "power_of_two",
                                            "shared",     "contiguous", "equal"};

std::string nearest(std::string_view word, const std::vector<std::string_view>& names) {
  const std::string close = did_you_mean(word, names);
  return close.empty() ? fmt::format("; there are: {}", fmt::join(names, ", ")) : close;
}

std::optional<Collective> collective_named(std::string_view word) {
  for (int i = 0; i < kCollectives; ++i)
    if (name_of(static_cast<Collective>(i)) == word) return static_cast<Collective>(i);
  return std::nullopt;
}

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value < 0) return std::nullopt;
  const std::string_view suffix = text.substr(static_cast<size_t>(end - text.data()));
  if (suffix.empty()) return value;
  if (suffix.size() != 1) return std::nullopt;
  const auto at = std::string_view("kmg").find(static_cast<char>(suffix[0] | 0x20));
  if (at == std::string_view::npos) return std::nullopt;
  const int shift = 10 * (static_cast<int>(at) + 1);
  if (value > (INT64_MAX >> shift)) return std::nullopt;
  return value << shift;
}

Error parse_condition(std::string_view word, Collective kind, Clause& condition) {
  const size_t at = word.find_first_of("<>=");
  const std::string_view name = word.substr(0, at);
  const auto quantity = std::find(std::begin(kQuantities), std::end(kQuantities), name);
  if (quantity == std::end(kQuantities))
    return failure(MPI_ERR_ARG, "no condition is called '{}'{}", name,
                   nearest(name, {std::begin(kQuantities), std::end(kQuantities)}));
  condition.quantity = static_cast<Quantity>(quantity - std::begin(kQuantities));
  const bool of_bytes = condition.quantity == Quantity::bytes || condition.quantity == Quantity::rank_bytes;
  if (of_bytes && row_of(kind).known_to != KnownTo::all)
    return failure(MPI_ERR_ARG, "{} cannot be chosen by bytes: no rank knows the others' counts", name_of(kind));
  size_t value_at = at + 1;
  const bool or_equal = word.size() > value_at && word[at] != '=' && word[value_at] == '=';
  if (or_equal) ++value_at;
  const std::string_view value = word.substr(value_at);
  switch (word[at]) {
    case '<':
      condition.relation = or_equal ? Relation::at_most : Relation::less;
      break;
    case '>':
      condition.relation = or_equal ? Relation::at_least : Relation::greater;
      break;
    default:
      condition.relation = Relation::equal;
      break;
  }
  if (condition.quantity <= Quantity::read_rate) {
    const std::optional<int64_t> parsed = number(value);
    if (!parsed) return failure(MPI_ERR_ARG, "'{}' is no number; write one like 4096, 4k or 1m", value);
    condition.value = *parsed;
    return {};
  }
  if (condition.relation != Relation::equal || (value != "yes" && value != "no"))
    return failure(MPI_ERR_ARG, "'{}' must be {}=yes or {}=no", word, name, name);
  condition.value = value == "yes";
  return {};
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view kBlank = " \t\r";
  for (size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlank, end);
  }
  return words;
}

}  // namespace

bool Clause::holds(const Shape& shape) const {
  int64_t actual = 0;
  switch (quantity) {
    case Quantity::bytes:
      actual = shape.bytes;
      break;
    case Quantity::rank_bytes:
      actual = shape.rank_bytes();
      break;
    case Quantity::ranks:
      actual = shape.size;
      break;
    case Quantity::nodes:
      actual = shape.nodes ? shape.nodes->nodes() : 1;
      break;
    case Quantity::node_ranks:
      actual = shape.nodes ? shape.nodes->most() : shape.size;
      break;
    case Quantity::read_rate:
      actual = shape.read_rate;
      break;
    case Quantity::contiguous:
      actual = !shape.nodes || shape.nodes->contiguous();
      break;
    case Quantity::equal:
      actual = !shape.nodes || shape.nodes->equal();
      break;
    case Quantity::commutative:
      actual = shape.commutative;
      break;
    case Quantity::power_of_two:
      actual = std::has_single_bit(static_cast<unsigned>(shape.size));
      break;
    case Quantity::shared:
      actual = objection_to_sharing(shape).empty();
      break;
  }
  switch (relation) {
    case Relation::less:
      return actual < value;
    case Relation::at_most:
      return actual <= value;
    case Relation::equal:
      return actual == value;
    case Relation::at_least:
      return actual >= value;
    case Relation::greater:
      return actual > value;
  }
  return false;
}

std::string Selection::place_of(const Rule& rule) const {
  return fmt::format("{}:{}", sources_[static_cast<size_t>(rule.source)], rule.line);
}

bool Selection::matches(const Rule& rule, const Shape& shape) const {
  if (rule.kind != shape.kind) return false;
  for (uint32_t i = rule.begin; i < rule.end; ++i)
    if (!clauses_[i].holds(shape)) return false;
  return true;
}

Error Selection::add(std::string_view text, std::string_view source, char separator) {
  int line_number = 0;
  sources_.emplace_back(source);
  while (!text.empty()) {
    ++line_number;
    const size_t end = std::min(text.find_first_of(separator == ';' ? ";\n" : "\n"), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, line.find('#'));
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) continue;

    const std::optional<Collective> kind = collective_named(words[0]);
    const auto place = [&] { return fmt::format("{}:{}", source, line_number); };
    if (!kind) {
      std::vector<std::string_view> names;
      for (int i = 0; i < kCollectives; ++i) names.push_back(name_of(static_cast<Collective>(i)));
      return failure(MPI_ERR_ARG, "{}: no collective is called '{}'{}", place(), words[0], nearest(words[0], names));
    }
    Rule& rule = rules_.emplace_back();
    rule.kind = *kind;
    rule.source = static_cast<int>(sources_.size()) - 1;
    rule.line = line_number;
    rule.begin = static_cast<uint32_t>(clauses_.size());
    if (words.size() < 2) return failure(MPI_ERR_ARG, "{}: no algorithm stands behind '{}'", place(), words[0]);
    for (size_t i = 1; i + 1 < words.size(); ++i) {
      if (words[i].find_first_of("<>=") == std::string_view::npos)
        return failure(MPI_ERR_ARG,
                       "{}: '{}' is no condition; write one like bytes<=4k, and the "
                       "algorithm last",
                       place(), words[i]);
      Clause condition{};
      if (Error e = parse_condition(words[i], *kind, condition)) return std::move(e).within(place());
      clauses_.push_back(condition);
    }
    std::vector<std::string_view> names;
    rule.algorithm = nullptr;
    for (const Algorithm& algorithm : algorithms(*kind)) {
      names.push_back(algorithm.name);
      if (algorithm.name == words.back()) rule.algorithm = &algorithm;
    }
    if (!rule.algorithm)
      return failure(MPI_ERR_ARG, "{}: {} has no algorithm '{}'{}", place(), words[0], words.back(),
                     nearest(words.back(), names));
    rule.end = static_cast<uint32_t>(clauses_.size());
  }
  return {};
}

Result<std::shared_ptr<const Selection>> Selection::parse(std::string_view text, std::string_view source) {
  auto selection = std::make_shared<Selection>();
  if (Error e = selection->add(text, source, '\n')) return e;
  selection->clauses_.shrink_to_fit();
  return std::shared_ptr<const Selection>(std::move(selection));
}

Result<std::shared_ptr<const Selection>> Selection::load(const std::string& override_rules, const std::string& path) {
  if (override_rules.empty() && path.empty()) return shipped();
  auto selection = std::make_shared<Selection>();
  if (Error e = selection->add(override_rules, "collectives.override", ';')) return e;
  if (path.empty()) {
    if (Error e = selection->add(kShippedRules, "the shipped rules", '\n')) return e;
  } else {
    const Result<std::string> text = text_of(path);
    if (!text)
      return failure(MPI_ERR_ARG, "the rules of collectives.rules, {}, cannot be read: {}", path,
                     text.error().message());
    if (Error e = selection->add(*text, path, '\n')) return e;
  }
  return std::shared_ptr<const Selection>(std::move(selection));
}

std::shared_ptr<const Selection> Selection::shipped() {
  static const std::shared_ptr<const Selection> shipped = [] {
    auto parsed = parse(kShippedRules, "the shipped rules");
    TUTTI_INVARIANT(parsed, parsed.error().message());
    return *parsed;
  }();
  return shipped;
}

const Selection::Rule* Selection::rule_for(const Shape& shape) const {
  for (const Rule& rule : rules_) {
    if (!matches(rule, shape)) continue;
    const std::string_view why = objection(*rule.algorithm, shape);
    if (why.empty()) return &rule;
    // (One rank alone needs no algorithm at all.)
    if (shape.size > 1 && !rule.refused.exchange(true, std::memory_order_relaxed))
      say(Level::warning, "{}: {} cannot use {} here: {}; trying the next rule", place_of(rule), name_of(shape.kind),
          rule.algorithm->name, why);
  }
  return nullptr;
}

const Algorithm& Selection::choose(const Shape& shape) const {
  if (shape.first_side > 0) {
    const Algorithm* const between = row_of(shape.kind).between;
    TUTTI_INVARIANT(between, "a collective of one group runs between two");
    return *between;
  }
  const Rule* const rule = rule_for(shape);
  return rule ? *rule->algorithm : algorithms(shape.kind).front();
}

std::string Selection::chosen_by(const Shape& shape) const {
  const Rule* const rule = shape.first_side > 0 ? nullptr : rule_for(shape);
  return rule ? place_of(*rule) : "";
}

}  // namespace tutti::coll
