// SPDX-License-Identifier: BSD-3-Clause
#include "base/printable.hpp"

#include <fmt/core.h>

#include <cstdint>

namespace tutti {
namespace {

// Bytes of the character that begins here, and which one it is; 0 bytes: no UTF-8.
struct Character {
  size_t bytes = 0;
  uint32_t code = 0;
};

Character character_at(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {1, first};
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || bytes > text.size()) return {};
  uint32_t code = first & (0x7fU >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < least[bytes] || code > 0x10ffff || surrogate ? Character{} : Character{bytes, code};
}

bool is_harmless(uint32_t code) {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;
  const bool turns_the_line =
      code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return !turns_the_line;
}

}  // namespace

std::string printable(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character at = character_at(text);
    const size_t bytes = at.bytes ? at.bytes : 1;
    if (at.bytes && (is_harmless(at.code) || (bytes == 1 && kept.find(text[0]) != kept.npos)))
      out += text.substr(0, bytes);
    else
      for (const char c : text.substr(0, bytes))
        out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    text.remove_prefix(bytes);
  }
  return out;
}

}  // namespace tutti
