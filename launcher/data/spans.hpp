// SPDX-License-Identifier: BSD-3-Clause
// Numbers in a row, of nodes or of ranks.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::launcher {

struct Span {
  int first = 0, count = 0;
  int end() const { return first + count; }
  bool operator==(const Span&) const = default;
};
template <class Archive>
void fields(Archive& a, Span& v) {
  a(v.first);
  a(v.count);
}

// In the order of the numbers.
std::vector<Span> spans_of(const std::vector<int>& numbers);
// Of spans that came over a wire. Nothing: they are no spans, or of more nodes than is believed.
std::optional<std::vector<int>> nodes_in(const std::vector<Span>& spans);

// The rest is of spans in ascending order, with a gap between them.
bool are_apart(const std::vector<Span>& spans);  // … and of ranks as there may be
std::vector<Span> united(const std::vector<Span>& one, const std::vector<Span>& other);
void add(std::vector<Span>& spans, int number);
size_t count_of(const std::vector<Span>& spans);
// In a byte or two each, and back; nothing: the bytes are no such spans.
std::string compact_spans(const std::vector<Span>& spans);
std::optional<std::vector<Span>> expand_spans(std::string_view text);

}  // namespace tutti::launcher
