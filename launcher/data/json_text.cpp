// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/data/json_text.hpp"

#include "base/printable.hpp"

namespace tutti::launcher {

std::string json_text(const std::string& text, std::string_view kept) {
  std::string out = "\"";
  for (const char c : printable(text, kept)) {
    if (c == '\n' || c == '\t') {
      out += c == '\n' ? "\\n" : "\\t";
    } else if (c == '<') {  // "</script>" would end what it stands in
      out += "\\u003c";
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + '"';
}

}  // namespace tutti::launcher
