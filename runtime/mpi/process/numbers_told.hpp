// SPDX-License-Identifier: BSD-3-Clause
// By which numbers the processes of one side know those of the other: a row for each of the one, with a number for each of
// the other. Processes mostly get theirs in one order, so that a row is a range and the rows of neighbours are the same.
// They are told, and held, like that: a table of both sides' product is made nowhere.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/process_list.hpp"

namespace tutti::mpi::processes {

class NumbersTold {
 public:
  // As one process tells its row.
  static std::string row_as_text(const ProcessList& numbers);
  // Of the rows of all, in their order; nullopt if one is none.
  static std::optional<NumbersTold> of(const std::vector<std::string>& rows);

  std::string packed() const;
  // nullopt if that is none of `rows` rows with `columns` numbers each.
  static std::optional<NumbersTold> unpacked(const std::string& text, int rows, int columns);

  // The number by which process `row` of the one side knows process `column` of the other.
  int at(int row, int column) const;

 private:
  struct Alike {
    int first;  // of the rows that are this one
    ProcessList row;
  };
  std::vector<Alike> runs_;
  int rows_ = 0;
};

}  // namespace tutti::mpi::processes
