// SPDX-License-Identifier: BSD-3-Clause
// A view of a file (the standard, section 14.3) as data: from a displacement on, the file is tiled
// with a layout, whose bytes of data, one after the other, are the positions of the view. It is a
// description and nothing else: a view of a thousand million pieces is as large as one of two.
//
//   displacement  filetype    filetype           . a hole, 0 to 5 positions
//   v             v           v
//   ..............01.23.......45.67.......…
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/layout.hpp"

namespace tutti::io {

struct View {
  int64_t displacement = 0;           // bytes
  LayoutRef tile = Layout::dense(1);  // its displacements ascend, as the standard wants it

  bool is_plain() const { return tile->is_dense(); }
  bool is_empty() const { return tile->size() == 0; }

  // Where in the file a position lies.
  int64_t offset_of(int64_t position) const { return displacement + tile->displacement_of(position); }
  // How many positions lie before that place in the file.
  int64_t position_at(int64_t offset) const;

  // Of where some of its first positions lie. Equal views have equal ones, however they are put
  // together; views of different ones differ.
  uint64_t fingerprint() const;

  // visit(offset in the file, how far from `position`, bytes) for each run of [position, position +
  // length), in order, until it says no.
  template <class Visit>
  bool each_run(int64_t position, int64_t length, Visit&& visit) const {
    int64_t done = 0;
    return tile->each_run(position, length, [&](int64_t at, int64_t bytes) {
      const int64_t from = done;
      done += bytes;
      return static_cast<bool>(visit(displacement + at, from, bytes));
    });
  }
};

}  // namespace tutti::io
