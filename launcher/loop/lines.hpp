// SPDX-License-Identifier: BSD-3-Clause
// Keeps the lines of a stream whole: bytes go in as they come, whole lines come out. A line longer
// than kLongestLine leaves in pieces, so that a stream without line ends needs no endless memory.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace tutti::launcher {

class LineKeeper {
 public:
  static constexpr size_t kLongestLine = 1 << 20;

  // The whole lines that are complete with `bytes`, or an empty string.
  std::string add(std::string_view bytes) {
    const size_t end = bytes.rfind('\n');
    std::string out;
    if (end != bytes.npos) {
      out = std::move(rest_);
      rest_.clear();
      out.append(bytes.substr(0, end + 1));
      bytes.remove_prefix(end + 1);
    }
    rest_.append(bytes);
    if (rest_.size() > kLongestLine) out += take_rest();
    return out;
  }
  std::string take_rest() {
    std::string out = std::move(rest_);
    rest_.clear();
    return out;
  }

 private:
  std::string rest_;
};

// `text` with `tag` before each line; a last line without an end gets one.
inline std::string tagged(std::string_view text, std::string_view tag) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out.append(tag).append(text.substr(0, end)).push_back('\n');
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace tutti::launcher
