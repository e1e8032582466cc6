// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/ask/secret_looks.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "launcher/ask/placeholders.hpp"

namespace tutti::launcher {
namespace {

// Shorter words than these may be anything.
constexpr size_t kShortestRandom = 20, kShortestKnownToken = 12;

bool is_letter_or_digit(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

bool is_of_name(char c) {
  return is_letter_or_digit(c) || c == '_' || c == '-' || c == '.';
}

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Where the value that begins here ends: at its closing quote, else at the next blank.
size_t end_of_value(std::string_view text, size_t at) {
  if (at < text.size() && (text[at] == '"' || text[at] == '\''))
    if (const size_t quote = text.find(text[at], at + 1); quote != text.npos) return quote + 1;
  return std::min(text.find_first_of(" \t\n", at), text.size());
}

// Where the value of a name that ends at `at` begins; npos: it has none. Behind an option there may be a blank alone.
size_t begin_of_value(std::string_view text, size_t at, bool is_option) {
  size_t begin = at;
  if (begin < text.size() && (text[begin] == '"' || text[begin] == '\'')) ++begin;  // "password": "x"
  const size_t sign = begin;
  while (begin < text.size() && is_blank(text[begin])) ++begin;
  const bool has_sign = begin < text.size() && (text[begin] == '=' || text[begin] == ':');
  if (has_sign) {
    ++begin;
    while (begin < text.size() && is_blank(text[begin])) ++begin;
  }
  const bool has_value = begin < text.size() && text[begin] != '\n';
  return has_value && (has_sign || (is_option && begin > sign)) ? begin : text.npos;
}

std::string without_named_values(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (!is_of_name(text[at])) {
      out += text[at++];
      continue;
    }
    size_t end = at;
    while (end < text.size() && is_of_name(text[end])) ++end;
    const std::string_view name = text.substr(at, end - at);
    out += name;
    at = end;
    const bool is_bearer = lower(name) == "bearer";
    if (!is_bearer && !is_name_of_secret(name)) continue;
    const size_t value = begin_of_value(text, end, is_bearer || name.starts_with('-'));
    if (value == text.npos) continue;
    // "Authorization: Bearer x" has its secret behind the next word.
    const size_t value_end = end_of_value(text, value);
    out += text.substr(end, value - end);
    if (lower(text.substr(value, value_end - value)) != "bearer") {
      out += kLeftOut;
      at = value_end;
    } else {
      at = value;
    }
  }
  return out;
}

// "https://user:password@host"
std::string without_credentials(std::string_view text) {
  std::string out;
  for (;;) {
    const size_t scheme = text.find("://");
    if (scheme == text.npos) return out.append(text);
    const size_t begin = scheme + 3;
    out += text.substr(0, begin);
    text.remove_prefix(begin);
    const std::string_view authority = text.substr(0, std::min(text.find_first_of("/ \t\n\"'"), text.size()));
    if (const size_t sign = authority.rfind('@'); sign != authority.npos) {
      out += kLeftOut;
      text.remove_prefix(sign);
    }
  }
}

bool begins_as_a_token(std::string_view word) {
  constexpr std::string_view known[] = {"ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xox", "AKIA", "sk-", "eyJ"};
  return word.size() >= kShortestKnownToken &&
         std::ranges::any_of(known, [&](std::string_view each) { return word.starts_with(each); });
}

// Letters and digits take turns where chance has made a word, and hardly in names: at every fourth place or more often.
bool looks_random(std::string_view word) {
  if (begins_as_a_token(word)) return true;
  if (word.size() < kShortestRandom || word.starts_with("_Z")) return false;  // those are names of the compiler's
  const auto kind = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) ? 1 : std::isupper(c) ? 2 : 3; };
  size_t turns = 0;
  bool digits = false, letters = false;
  for (size_t i = 0; i < word.size(); ++i) {
    (kind(word[i]) == 1 ? digits : letters) = true;
    if (i > 0 && kind(word[i]) != kind(word[i - 1])) ++turns;
  }
  return digits && letters && turns * 4 >= word.size();
}

std::string without_random_words(std::string_view text) {
  const auto is_of_word = [](char c) { return is_letter_or_digit(c) || c == '_' || c == '-' || c == '+' || c == '='; };
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_of_word(text[end])) ++end;
    // A value behind '=' is a word of its own.
    const size_t sign = text.substr(at, end - at).find('=');
    if (sign != text.npos && at + sign + 1 < end && sign > 0) end = at + sign;
    if (end == at) {
      out += text[at++];
      continue;
    }
    const std::string_view word = text.substr(at, end - at);
    out += looks_random(word) ? kLeftOut : word;
    at = end;
    if (at < text.size() && text[at] == '=') out += text[at++];
  }
  return out;
}

std::string without_private_keys(std::string_view text) {
  constexpr std::string_view begin = "-----BEGIN ", end = "-----END ";
  std::string out;
  for (;;) {
    const size_t key = text.find(begin);
    if (key == text.npos) return out.append(text);
    out += text.substr(0, key);
    out += kLeftOut;
    const size_t last = text.find(end, key);
    if (last == text.npos) return out;
    text.remove_prefix(std::min(text.find('\n', last), text.size()));
  }
}

}  // namespace

bool is_name_of_secret(std::string_view name) {
  const std::string small = lower(name);
  for (const char* part : {"secret", "passwd", "password", "passphrase", "token", "credential", "private", "cookie",
                           "authorization", "apikey", "sshpass"})
    if (small.find(part) != small.npos) return true;
  std::string words = small;
  std::ranges::replace_if(words, [](char c) { return c == '_' || c == '-' || c == '.'; }, ' ');
  std::istringstream list(words);
  for (std::string word; list >> word;)
    for (const char* known : {"key", "keys", "pass", "pw", "auth", "jwt"})
      if (word == known) return true;
  return false;
}

std::string without_values(std::string_view command) {
  std::istringstream words{std::string(command)};
  std::string out;
  bool is_first = true;
  for (std::string word; words >> word; is_first = false) {
    const size_t sign = word.find('=');
    std::string shown = "…";
    if (sign != word.npos)
      shown = word.substr(0, sign + 1) + "…";
    else if (is_first || word.starts_with("--") || (word.starts_with('-') && word.size() == 2) || word == "%rank")
      shown = word;
    else if (word.starts_with('-'))
      shown = word.substr(0, 2) + "…";
    out += (is_first ? "" : " ") + shown;
  }
  return out;
}

std::string without_secret_looks(std::string_view text) {
  return without_random_words(without_named_values(without_credentials(without_private_keys(text))));
}

}  // namespace tutti::launcher
