// SPDX-License-Identifier: BSD-3-Clause
// Numbers that are mostly small, in few bytes: seven bits in each, the lower ones first; the last byte alone is below 128.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::launcher {

inline void put_number(std::string& out, uint64_t number) {
  for (; number >= 128; number >>= 7) out.push_back(static_cast<char>(number | 128));
  out.push_back(static_cast<char>(number));
}

// Of bytes that are not trusted: once something is wrong, there is nothing more.
class NumberReader {
 public:
  explicit NumberReader(std::string_view text) : rest_(text) {}
  bool at_end() const { return rest_.empty() || !good_; }
  bool good() const { return good_; }
  // Up to `most`, which is less than 2^42; anything else is wrong.
  uint64_t number(uint64_t most) {
    uint64_t out = 0;
    for (unsigned shift = 0; shift < 42 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      out |= uint64_t{byte & 127U} << shift;
      if (byte < 128) {
        good_ = good_ && out <= most;
        return out;
      }
    }
    good_ = false;
    return 0;
  }

 private:
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace tutti::launcher
