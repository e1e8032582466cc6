// SPDX-License-Identifier: BSD-3-Clause
// The secret of a job: the launcher and its daemons prove to each other that they know it, without
// sending it. A proof is a keyed hash (SipHash-2-4, twice, for 128 bits) over what both sides said.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tutti {

class Secret {
 public:
  static Secret random();
  static std::optional<Secret> from_hex(std::string_view hex);
  const std::string& hex() const { return hex_; }
  std::string proof(std::string_view text) const;

 private:
  std::string hex_, key_;
};

bool same_proof(std::string_view a, std::string_view b);  // in time that tells nothing

// SipHash-2-4 of Aumasson and Bernstein, 2012; `key` is 16 bytes.
uint64_t siphash(std::string_view key, std::string_view text);

}  // namespace tutti
