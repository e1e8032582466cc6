// SPDX-License-Identifier: BSD-3-Clause
#include "base/secret.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>

#include "base/random.hpp"

namespace tutti {
namespace {

constexpr size_t kKeyBytes = 32;  // two keys of SipHash

uint64_t little_endian(std::string_view bytes) {
  uint64_t word = 0;
  for (size_t i = bytes.size(); i-- > 0;) word = word << 8 | static_cast<unsigned char>(bytes[i]);
  return word;
}

struct SipState {
  uint64_t a, b, c, d;
  void round() {
    a += b;
    b = std::rotl(b, 13) ^ a;
    a = std::rotl(a, 32);
    c += d;
    d = std::rotl(d, 16) ^ c;
    a += d;
    d = std::rotl(d, 21) ^ a;
    c += b;
    b = std::rotl(b, 17) ^ c;
    c = std::rotl(c, 32);
  }
  void absorb(uint64_t word) {
    d ^= word;
    round();
    round();
    a ^= word;
  }
};

}  // namespace

uint64_t siphash(std::string_view key, std::string_view text) {
  const uint64_t low = little_endian(key.substr(0, 8)), high = little_endian(key.substr(8, 8));
  SipState s{low ^ 0x736f6d6570736575, high ^ 0x646f72616e646f6d, low ^ 0x6c7967656e657261, high ^ 0x7465646279746573};
  const uint64_t size = text.size();
  while (text.size() >= 8) {
    s.absorb(little_endian(text.substr(0, 8)));
    text.remove_prefix(8);
  }
  s.absorb(little_endian(text) | size << 56);
  s.c ^= 0xff;
  for (int i = 0; i < 4; ++i) s.round();
  return s.a ^ s.b ^ s.c ^ s.d;
}

Secret Secret::random() {
  return *from_hex(random_hex(kKeyBytes));
}

std::optional<Secret> Secret::from_hex(std::string_view hex) {
  if (hex.size() != 2 * kKeyBytes) return {};
  Secret out;
  out.hex_ = hex;
  for (size_t i = 0; i < hex.size(); i += 2) {
    unsigned byte = 0;
    const auto [end, problem] = std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    if (problem != std::errc() || end != hex.data() + i + 2) return {};
    out.key_ += static_cast<char>(byte);
  }
  return out;
}

std::string Secret::proof(std::string_view text) const {
  std::string out;
  for (size_t half : {size_t{0}, kKeyBytes / 2}) {
    const uint64_t hash = siphash(std::string_view(key_).substr(half, 16), text);
    out.append(reinterpret_cast<const char*>(&hash), sizeof hash);
  }
  return out;
}

bool same_proof(std::string_view a, std::string_view b) {
  unsigned char difference = a.size() != b.size();
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace tutti
