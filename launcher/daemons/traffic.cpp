// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/daemons/traffic.hpp"

#include "launcher/daemons/protocol.hpp"

namespace tutti::launcher {
namespace {

struct Row {
  Message kind = Message::ping;
  uint64_t messages = 0, bytes = 0;
};
template <class Archive>
void fields(Archive& a, Row& v) {
  a(v.kind);
  a(v.messages);
  a(v.bytes);
}

const char* plural(uint64_t count) {
  return count == 1 ? "" : "s";
}

}  // namespace

void Traffic::count(Message kind, size_t payload) {
  Sum& sum = sums_[kind];
  ++sum.messages;
  sum.bytes += kFrameHeader + payload;
}

bool Traffic::add(std::string_view packed) {
  std::vector<Row> rows;
  if (!wire::unpack(packed, rows)) return false;
  for (const Row& row : rows)
    if (!talk_rule(row.kind)) return false;
  for (const Row& row : rows) {
    sums_[row.kind].messages += row.messages;
    sums_[row.kind].bytes += row.bytes;
  }
  return true;
}

std::string Traffic::packed() const {
  std::vector<Row> rows;
  for (const auto& [kind, sum] : sums_) rows.push_back({kind, sum.messages, sum.bytes});
  return wire::pack(rows);
}

std::string Traffic::text() const {
  Sum all;
  std::string kinds;
  for (const auto& [kind, sum] : sums_) {
    all.messages += sum.messages;
    all.bytes += sum.bytes;
    const TalkRule* rule = talk_rule(kind);
    kinds += fmt::format("{}{} {} ({} byte{})", kinds.empty() ? ": " : ", ", rule ? rule->name : "?", sum.messages,
                         sum.bytes, plural(sum.bytes));
  }
  return fmt::format("{} message{} of {} byte{}{}", all.messages, plural(all.messages), all.bytes, plural(all.bytes),
                     kinds);
}

}  // namespace tutti::launcher
