// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/words/program_list.hpp"

#include <algorithm>
#include <sstream>

#include "launcher/words/foreign_options.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

constexpr int kMostRanks = 1'000'000;

// Words of a line of a file; quotes keep blanks, as in a shell. Nothing: a quote does not end.
std::optional<std::vector<std::string>> words_of(const std::string& line) {
  std::vector<std::string> out;
  std::string word;
  bool inside = false;
  char quote = 0;
  for (const char c : line) {
    if (quote ? c == quote : c == '\'' || c == '"') {
      quote = quote ? '\0' : c;
      inside = true;
    } else if (!quote && (c == ' ' || c == '\t' || c == '\r')) {
      if (std::exchange(inside, false)) out.push_back(std::exchange(word, {}));
    } else if (!quote && !inside && c == '#') {
      break;
    } else {
      word += c;
      inside = true;
    }
  }
  if (quote) return std::nullopt;
  if (inside) out.push_back(word);
  return out;
}

// "0-2,5"; nothing: it is no such list.
std::optional<std::vector<int>> ranks_named(std::string_view list) {
  std::vector<int> out;
  for (const std::string& part : parts(list, ',')) {
    const size_t dash = std::min(part.find('-'), part.size());
    const std::optional<int> first = whole(std::string_view(part).substr(0, dash), 0);
    const std::optional<int> last = dash == part.size() ? first : whole(std::string_view(part).substr(dash + 1), 0);
    if (!first || !last || *last < *first || *last >= kMostRanks) return std::nullopt;
    for (int rank = *first; rank <= *last; ++rank) out.push_back(rank);
  }
  return out.empty() ? std::nullopt : std::optional(out);
}

std::string replaced(std::string text, std::string_view sign, int number) {
  for (size_t at = text.find(sign); at != text.npos; at = text.find(sign, at))
    text.replace(at, sign.size(), std::to_string(number));
  return text;
}

// Which of the lines each rank's program is, by its index.
Result<std::vector<int>> lines_of_ranks(const std::vector<WordLine>& lines, std::string_view file,
                                        std::optional<int> given) {
  std::vector<int> out(static_cast<size_t>(given.value_or(0)), -1);
  int rest = -1;
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto wrong = [&](const std::string& what) {
      return failure(MPI_ERR_ARG, "{}:{}: {}", file, lines[i].number, what);
    };
    const std::string& word = lines[i].words[0];
    if (lines[i].words.size() < 2) return wrong("a line is 'RANKS program arguments', such as '0-2,5 ./program'");
    if (word == "*") {
      if (rest >= 0) return wrong("'*' stands in two lines");
      rest = static_cast<int>(i);
      continue;
    }
    const std::optional<std::vector<int>> ranks = ranks_named(word);
    if (!ranks) return wrong(fmt::format("'{}' is no list of ranks such as 0-2,5, and not '*'", word));
    for (const int rank : *ranks) {
      const auto at = static_cast<size_t>(rank);
      if (given && rank >= *given)
        return wrong(fmt::format("rank {} is named, and -n {} gives ranks 0 to {}", rank, *given, *given - 1));
      if (at >= out.size()) out.resize(at + 1, -1);
      if (out[at] >= 0)
        return wrong(
            fmt::format("rank {} has a program already, of line {}", rank, lines[static_cast<size_t>(out[at])].number));
      out[at] = static_cast<int>(i);
    }
  }
  if (rest >= 0 && !given)
    return failure(MPI_ERR_ARG, "{}: '*' stands for the ranks that no other line names; say by -n how many there are",
                   file);
  std::ranges::replace(out, -1, rest);
  if (const auto none = std::ranges::find(out, -1); none != out.end())
    return failure(MPI_ERR_ARG, "{}: no line names a program for rank {}; '*' in place of ranks stands for all others",
                   file, none - out.begin());
  return out;
}

}  // namespace

Result<std::vector<WordLine>> word_lines(const std::string& content, std::string_view file) {
  std::istringstream lines(content);
  std::vector<WordLine> out;
  std::string line, text;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();  // of an editor that ends lines so
    if (line.ends_with('\\')) {
      text += line.substr(0, line.size() - 1) + " ";
      line.clear();
      if (lines.peek() != std::istringstream::traits_type::eof()) continue;
    }
    auto words = words_of(std::exchange(text, {}) + line);
    if (!words) return failure(MPI_ERR_ARG, "{}:{}: a quote has no end", file, number);
    if (!words->empty()) out.push_back({number, std::move(*words)});
  }
  return out;
}

Result<std::vector<AppOptions>> programs_by_ranks(const std::string& content, std::string_view file,
                                                  const AppOptions& like) {
  Result<std::vector<WordLine>> lines = word_lines(content, file);
  if (!lines) return std::move(lines).error();
  if (lines->empty()) return failure(MPI_ERR_ARG, "{}: names no program; a line is '0-2,5 ./program arguments'", file);
  Result<std::vector<int>> line_of = lines_of_ranks(*lines, file, like.ranks);
  if (!line_of) return std::move(line_of).error();
  std::vector<int> seen(lines->size(), 0);
  std::vector<AppOptions> out;
  int before = -1;
  for (size_t rank = 0; rank < line_of->size(); ++rank) {
    const int line = (*line_of)[rank];
    const std::vector<std::string>& words = (*lines)[static_cast<size_t>(line)].words;
    const int offset = seen[static_cast<size_t>(line)]++;
    const auto has_sign = [](const std::string& word) {
      return word.find("%t") != word.npos || word.find("%o") != word.npos;
    };
    const bool own_words = std::any_of(words.begin() + 2, words.end(), has_sign);
    if (line == before && !own_words) {
      ++*out.back().ranks;
      continue;
    }
    out.push_back(like);
    out.back().ranks = 1;
    out.back().command.assign(words.begin() + 1, words.end());
    for (size_t i = 1; own_words && i < out.back().command.size(); ++i)
      out.back().command[i] = replaced(replaced(out.back().command[i], "%t", static_cast<int>(rank)), "%o", offset);
    before = line;
  }
  return out;
}

}  // namespace tutti::launcher
