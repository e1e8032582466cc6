// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/process/numbers_told.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>

#include "base/bytes.hpp"
#include "base/process_list_on_wire.hpp"

namespace tutti::mpi::processes {
namespace {

// By which it is known from the other thing that may be told in its place, an error.
constexpr uint64_t kMark = 0x6e756d6265727321;

std::string as_text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string NumbersTold::row_as_text(const ProcessList& numbers) {
  Bytes row;
  put_list(row, numbers);
  return as_text(row);
}

std::optional<NumbersTold> NumbersTold::of(const std::vector<std::string>& rows) {
  NumbersTold told;
  for (const std::string& row : rows) {
    if (told.rows_ > 0 && row == rows[static_cast<size_t>(told.rows_) - 1]) {
      ++told.rows_;
      continue;
    }
    std::span<const std::byte> from = std::as_bytes(std::span(row));
    std::optional<ProcessList> numbers = get_list(from);
    if (!numbers) return {};
    told.runs_.push_back({told.rows_++, *std::move(numbers)});
  }
  return told;
}

std::string NumbersTold::packed() const {
  Bytes out;
  put(out, kMark);
  put(out, static_cast<int32_t>(rows_));
  put(out, static_cast<uint32_t>(runs_.size()));
  for (const Alike& run : runs_) {
    put(out, static_cast<int32_t>(run.first));
    put_list(out, run.row);
  }
  return as_text(out);
}

std::optional<NumbersTold> NumbersTold::unpacked(const std::string& text, int rows, int columns) {
  std::span<const std::byte> from = std::as_bytes(std::span(text));
  NumbersTold told;
  uint64_t mark = 0;
  int32_t said = 0;
  uint32_t runs = 0;
  if (!get(from, mark) || mark != kMark || !get(from, said) || said != rows || !get(from, runs)) return {};
  told.rows_ = rows;
  int32_t before = -1;
  for (uint32_t i = 0; i < runs; ++i) {
    int32_t first = 0;
    if (!get(from, first) || first <= before || first >= rows || (i == 0 && first != 0)) return {};
    before = first;
    std::optional<ProcessList> row = get_list(from);
    if (!row || row->size() != columns) return {};
    told.runs_.push_back({first, *std::move(row)});
  }
  if (rows > 0 && runs == 0) return {};
  return told;
}

int NumbersTold::at(int row, int column) const {
  const auto next = std::ranges::upper_bound(runs_, row, {}, &Alike::first);
  return std::prev(next)->row[column];
}

}  // namespace tutti::mpi::processes
