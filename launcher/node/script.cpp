// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/node/script.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <span>
#include <utility>

namespace tutti::launcher {
namespace {

constexpr size_t kMostText = 1 << 16;
constexpr size_t kMostCommands = 64;

constexpr std::string_view kOpening[] = {"if", "for", "while", "until", "select", "{", "("};
constexpr std::string_view kClosing[] = {"fi", "done", "}", ")"};
// Behind these the rest of the script runs elsewhere, or not at all, or cannot be told.
constexpr std::string_view kEnds[] = {"pushd", "popd", "exit", "return", "trap", "eval", "case"};
// Behind these and && a command runs, too: they do not fail, or the next look at the folder tells.
constexpr std::string_view kSure[] = {"cd", "true", ":", "export", "set", "umask", "echo", "printf"};

bool is_in(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::count(words, word) > 0;
}

struct Word {
  std::string text;
  bool plain = true;     // as it stands: nothing for the shell to replace
  bool is_sign = false;  // such as ; or &&
};

// A line's words. Where a quote stays open nothing is told.
std::optional<std::vector<Word>> words_of(std::string_view line) {
  std::vector<Word> out;
  constexpr std::string_view blanks = " \t\r", signs = ";&|<>()", replaced = "$`*?[~";
  for (size_t at = 0; at < line.size();) {
    const char c = line[at];
    if (blanks.find(c) != blanks.npos) {
      ++at;
    } else if (c == '#') {
      break;
    } else if (signs.find(c) != signs.npos) {
      out.push_back({std::string(1, line[at++]), true, true});
    } else {
      Word word;
      for (char quote = 0; at < line.size(); ++at) {
        const char d = line[at];
        if (quote == 0 && (blanks.find(d) != blanks.npos || signs.find(d) != signs.npos)) break;
        if (d == quote) {
          quote = 0;
        } else if (quote == 0 && (d == '"' || d == '\'')) {
          quote = d;
        } else if (d == '\\' && quote != '\'' && at + 1 < line.size()) {
          word.text += line[++at];
        } else {
          word.text += d;
          if (quote != '\'' && (quote ? std::string_view("$`") : replaced).find(d) != replaced.npos) word.plain = false;
        }
        if (quote && at + 1 == line.size()) return std::nullopt;
      }
      out.push_back(std::move(word));
    }
  }
  return out;
}

bool is_assignment(const Word& word) {
  const size_t equals = word.text.find('=');
  return equals != word.text.npos && equals > 0 && !std::isdigit(static_cast<unsigned char>(word.text[0])) &&
         std::all_of(word.text.begin(), word.text.begin() + static_cast<std::ptrdiff_t>(equals),
                     [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

bool is_sign(std::span<const Word> words, size_t at, const char* sign) {
  return at < words.size() && words[at].is_sign && words[at].text == sign;
}
bool is_twice(std::span<const Word> words, size_t at, const char* sign) {
  return is_sign(words, at, sign) && is_sign(words, at + 1, sign);
}

// Of one command's words, with all that is behind it: "cd FOLDER" whose effect is known.
bool is_plain_cd(std::span<const Word> words) {
  return words.size() >= 2 && words[0].text == "cd" && words[1].plain && !words[1].is_sign &&
         !words[1].text.starts_with('-') && (words.size() == 2 || is_twice(words, 2, "&") || is_twice(words, 2, "|"));
}

// The words of a simple command, with the script's arguments in their places; empty: not known.
Words command_of(std::span<const Word> words, const Words& arguments) {
  while (!words.empty() && is_assignment(words[0])) words = words.subspan(1);
  if (!words.empty() && words[0].text == "exec") words = words.subspan(1);
  Words out;
  for (const Word& word : words) {
    if (word.is_sign) break;  // streams, and what may not run
    if (word.plain) {
      out.push_back(word.text);
    } else if (word.text == "$@" || word.text == "$*" || word.text == "${@}") {
      out.insert(out.end(), arguments.begin(), arguments.end());
    } else if (word.text.size() == 2 && word.text[0] == '$' && word.text[1] >= '1' && word.text[1] <= '9') {
      const size_t which = static_cast<size_t>(word.text[1] - '1');
      if (which >= arguments.size()) return {};
      out.push_back(arguments[which]);
    } else if (out.empty()) {
      return {};  // the program itself
    } else {
      out.push_back("");  // some argument
    }
  }
  return out;
}

}  // namespace

std::optional<std::string> read_text(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  struct stat about;
  std::string text(kMostText, 0);
  const ssize_t n = ::fstat(fd, &about) == 0 && S_ISREG(about.st_mode) ? ::pread(fd, text.data(), kMostText, 0) : -1;
  ::close(fd);
  if (n < 0) return std::nullopt;
  text.resize(static_cast<size_t>(n));
  return text;
}

std::optional<Words> interpreter_of(std::string_view text) {
  if (!text.starts_with("#!")) return std::nullopt;
  std::string_view line = text.substr(2, std::min(text.find('\n'), size_t{256}) - 2);
  Words out;
  while (!line.empty()) {
    // As the kernel has it: a carriage return belongs to the name.
    const size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    const size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    if (end > begin) out.emplace_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
  return out.empty() ? std::nullopt : std::optional(std::move(out));
}

std::vector<Words> commands_of_script(std::string_view text, const Words& arguments) {
  std::vector<Words> out;
  int depth = 0;
  std::string line;
  while (!text.empty() && out.size() < kMostCommands) {
    const size_t end = std::min(text.find('\n'), text.size());
    line += text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\\') && !text.empty()) {
      line.pop_back();
      continue;
    }
    const std::optional<std::vector<Word>> words = words_of(line);
    if (!words || line.find("<<") != line.npos) break;  // over several lines
    line.clear();
    // The line's commands between ';' all run, if it is inside of nothing.
    for (std::span<const Word> rest = *words; !rest.empty();) {
      const auto stop = std::ranges::find_if(rest, [](const Word& word) { return word.is_sign && word.text == ";"; });
      const std::span<const Word> part(rest.begin(), stop);
      rest = rest.subspan(std::min(part.size() + 1, rest.size()));
      bool simple = depth == 0 && !part.empty();
      for (const Word& word : part) {
        // Wherever they stand: an argument of that name only makes us say less.
        if (is_in(word.text, kOpening)) ++depth, simple = false;
        if (is_in(word.text, kClosing)) --depth, simple = false;
        if (is_in(word.text, kEnds) && &word == part.data()) return out;
      }
      if (!simple) {
        // Whether the rest runs in that folder cannot be told.
        if (std::ranges::count(part, "cd", &Word::text) > 0) return out;
        continue;
      }
      // What follows && runs only if what is before it has done well.
      for (std::span<const Word> command = part; !command.empty();) {
        if (is_in(command[0].text, kEnds)) return out;
        if (command[0].text == "cd" && !is_plain_cd(command)) return out;
        if (Words words = command_of(command, arguments); !words.empty()) {
          out.push_back(std::move(words));
          if (command[0].text == "exec") return out;
        }
        size_t next = 0;
        while (next < command.size() && !is_twice(command, next, "&")) ++next;
        if (!is_in(command[0].text, kSure) || next >= command.size() ||
            std::ranges::any_of(command.first(next), &Word::is_sign))
          break;
        command = command.subspan(next + 2);
      }
    }
  }
  return out;
}

}  // namespace tutti::launcher
