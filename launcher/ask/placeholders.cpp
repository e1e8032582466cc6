// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/ask/placeholders.hpp"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "launcher/ask/secret_looks.hpp"

namespace tutti::launcher {
namespace {

constexpr std::string_view kHost = "HOST", kUser = "USER", kDomain = "DOMAIN", kAddress = "ADDR";
// Folders of which each entry is a user's.
constexpr std::string_view kHomes[] = {"/home/", "/Users/", "/users/"};
// Shorter secrets would be found in every other word.
constexpr size_t kShortestSecret = 4;

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool is_alphanumeric(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}
bool is_of_address(char c) {
  return std::isxdigit(static_cast<unsigned char>(c)) || c == ':' || c == '.';
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

void add_longest_first(std::vector<std::string>& list, std::string_view text) {
  if (std::ranges::count(list, text)) return;
  list.emplace_back(text);
  std::ranges::stable_sort(list, [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
}

std::string replaced(std::string text, std::string_view old, std::string_view with) {
  for (size_t at = 0; (at = text.find(old, at)) != text.npos; at += with.size()) text.replace(at, old.size(), with);
  return text;
}

// "node" of "node7"; empty: it is none of a row of names.
std::string_view without_number(std::string_view name) {
  size_t end = name.size();
  while (end > 0 && is_digit(name[end - 1])) --end;
  return end < name.size() && end >= 2 ? name.substr(0, end) : std::string_view();
}

bool is_everybodys(std::string_view host) {
  return host.starts_with("localhost") || host.starts_with("ip6-") || host == "broadcasthost" ||
         std::ranges::all_of(host, [](char c) { return is_digit(c) || c == '.' || c == ':'; });
}

// Groups of up to four hexadecimal digits between colons, which no inet_pton takes: MAC addresses, and those of InfiniBand.
bool is_hardware_address(std::string_view word) {
  size_t groups = 1, digits = 0;
  for (const char c : word) {
    if (c == '.') return false;
    if (c == ':' && (digits == 0 || digits > 4)) return false;
    digits = c == ':' ? 0 : digits + 1;
    if (c == ':') ++groups;
  }
  return groups >= 4 && digits >= 1 && digits <= 4 && (groups != 4 || word.size() == 19);
}

bool is_private_address(const std::string& word) {
  in_addr four{};
  in6_addr six{};
  if (::inet_pton(AF_INET, word.c_str(), &four) == 1)
    return (ntohl(four.s_addr) >> 24) != 127 && four.s_addr != 0 && four.s_addr != 0xffffffff;
  if (::inet_pton(AF_INET6, word.c_str(), &six) == 1) return word != "::" && word != "::1" && word != "0::";
  return is_hardware_address(word);
}

// "52-54-00-12-34-56" at this place.
bool is_dashed_hardware_address(std::string_view text, size_t at) {
  constexpr size_t length = 17;
  if (text.size() < at + length || (at > 0 && (is_alphanumeric(text[at - 1]) || text[at - 1] == '-'))) return false;
  for (size_t i = 0; i < length; ++i) {
    const char c = text[at + i];
    if (i % 3 == 2 ? c != '-' : !std::isxdigit(static_cast<unsigned char>(c))) return false;
  }
  return at + length == text.size() || !(is_alphanumeric(text[at + length]) || text[at + length] == '-');
}

}  // namespace

void Placeholders::know(std::string_view name, const Known& known) {
  if (name.size() < 2 || !names_.try_emplace(lower(name), known).second) return;
  written_.emplace(name);
}

void Placeholders::host(std::string_view name) {
  while (name.ends_with('.')) name.remove_suffix(1);
  if (is_everybodys(lower(name))) return;
  const size_t dot = name.find('.');
  const std::string_view base = name.substr(0, dot);
  const Known* before = find(base);
  const Known known = before ? *before : Known{std::string(kHost), ++last_identity_};
  if (last_identity_ == 1) placeholder(known);  // this machine is HOST-1, whoever is met first
  know(base, known);
  if (const std::string_view row = without_number(base); !row.empty()) numbered_.emplace(lower(row));
  if (dot == name.npos) return;
  know(name, known);
  know(name.substr(dot + 1), {std::string(kDomain), ++last_identity_});
}

void Placeholders::user(std::string_view name) {
  if (name == "root" || name == "nobody" || find(name)) return;
  const Known known{std::string(kUser), ++last_identity_};
  if (!last_number_.contains(std::string(kUser))) placeholder(known);
  know(name, known);
}

void Placeholders::home(std::string_view folder) {
  while (folder.ends_with('/')) folder.remove_suffix(1);
  if (folder.size() > 1 && folder.starts_with('/')) add_longest_first(homes_, folder);
}

void Placeholders::secret(std::string_view value) {
  if (value.size() >= kShortestSecret) add_longest_first(secrets_, value);
}

// "HOST-2"; of users the first one is USER alone.
std::string Placeholders::placeholder(const Known& known) {
  const auto [at, is_new] = numbers_.try_emplace(known, 0);
  if (is_new) at->second = ++last_number_[known.kind];
  const bool is_alone = known.kind != kHost && at->second == 1;
  return is_alone ? known.kind : fmt::format("{}-{}", known.kind, at->second);
}

// A name counts as it was told, and all in small or all in capital letters.
const Placeholders::Known* Placeholders::find(std::string_view word) {
  const std::string small = lower(word);
  const auto found = names_.find(small);
  if (found == names_.end()) return nullptr;
  const bool is_one_case =
      word == small || std::ranges::none_of(word, [](char c) { return std::islower(static_cast<unsigned char>(c)); });
  return is_one_case || written_.contains(word) ? &found->second : nullptr;
}

std::string Placeholders::without_known_secrets(std::string text) const {
  for (const std::string& each : secrets_) text = replaced(std::move(text), each, kLeftOut);
  return text;
}

std::string Placeholders::without_homes(std::string_view text) {
  std::string out(text);
  for (const std::string& home : homes_)
    for (size_t at = 0; (at = out.find(home, at)) != out.npos;) {
      const size_t end = at + home.size();
      const bool goes_on = end < out.size() && (is_alphanumeric(out[end]) || out[end] == '_' || out[end] == '-');
      if (!goes_on) out.replace(at, home.size(), "HOME");
      at += goes_on ? 1 : 4;
    }
  // Other users' folders tell their names.
  for (const std::string_view folder : kHomes)
    for (size_t at = 0; (at = out.find(folder, at)) != out.npos; at += folder.size()) {
      const size_t begin = at + folder.size();
      const size_t end = std::min(out.find_first_of("/ \t\n:;,'\"()<>=", begin), out.size());
      if (end > begin) user(std::string_view(out).substr(begin, end - begin));
    }
  return out;
}

std::string Placeholders::address(std::string_view word) {
  const auto [at, is_new] = addresses_.try_emplace(lower(word), addresses_.size() + 1);
  return fmt::format("{}-{}", kAddress, at->second);
}

std::string Placeholders::without_addresses(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (is_dashed_hardware_address(text, at)) {
      out += address(text.substr(at, 17));
      at += 17;
      continue;
    }
    const bool is_begin = is_of_address(text[at]) && (at == 0 || !is_of_address(text[at - 1]));
    size_t end = at;
    while (is_begin && end < text.size() && is_of_address(text[end])) ++end;
    // A sentence ends with '.', and behind an address comes ':' and a port, which is no part of one of four numbers.
    std::string word(text.substr(at, end - at));
    while (word.ends_with('.') || (word.ends_with(':') && !word.ends_with("::"))) word.pop_back();
    if (const size_t colon = word.find(':'); word.find('.') < colon) word.erase(std::min(colon, word.size()));
    const bool is_inside = at > 0 && is_alphanumeric(text[at - 1]) && word.find(':') != word.npos;
    const size_t after = at + word.size();
    const bool goes_on = after < text.size() && after == end && is_alphanumeric(text[after]);
    if (word.size() > 2 && !is_inside && !goes_on && is_private_address(word)) {
      out += address(word);
      at += word.size();
    } else {
      const size_t next = std::max(end, at + 1);
      const std::string_view rest = text.substr(at, next - at);
      out += goes_on ? std::string(rest) : without_addresses_of_four(rest);
      at = next;
    }
  }
  return out;
}

// What is no address as a whole may have one behind a colon: "tcp:10.0.0.5:4242".
std::string Placeholders::without_addresses_of_four(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(':', at), text.size());
    size_t length = end - at;
    while (length > 0 && text[at + length - 1] == '.') --length;
    const std::string_view word = text.substr(at, length);
    const bool is_address = std::ranges::count(word, '.') == 3 && is_private_address(std::string(word));
    out += is_address ? address(word) : std::string(word);
    at += length;
    out += text.substr(at, std::min(end + 1, text.size()) - at);
    at = std::min(end + 1, text.size());
  }
  return out;
}

// Of the name that begins here the longest one that is known; how many bytes it takes. 0: none is.
size_t Placeholders::replace_name(std::string_view text, size_t at, std::string& out) {
  size_t end = at;
  while (end < text.size() && (is_alphanumeric(text[end]) || text[end] == '-' || text[end] == '.' || text[end] == '_'))
    ++end;
  for (; end > at; --end) {
    if (end < text.size() && is_alphanumeric(text[end])) continue;
    const std::string_view word = text.substr(at, end - at);
    const Known* known = find(word);
    if (!known && numbered_.contains(lower(without_number(word)))) {
      host(word);
      known = find(word);
    }
    if (!known) continue;
    out += placeholder(*known);
    return word.size();
  }
  return 0;
}

std::string Placeholders::without_names(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const bool is_begin = is_alphanumeric(text[at]) && (at == 0 || !is_alphanumeric(text[at - 1]));
    if (const size_t taken = is_begin ? replace_name(text, at, out) : 0; taken > 0) {
      at += taken;
      // "alice@node7" names a host, whoever has told us of it or not.
      const size_t end = std::min(text.find_first_of(" \t\n/:;,'\"()<>", at), text.size());
      if (at + 1 < end && text[at] == '@') host(text.substr(at + 1, end - at - 1));
      continue;
    }
    out += text[at++];
  }
  return out;
}

std::string Placeholders::operator()(std::string_view text) {
  return without_names(
      without_addresses(without_homes(without_secret_looks(without_known_secrets(std::string(text))))));
}

}  // namespace tutti::launcher
