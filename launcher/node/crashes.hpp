// SPDX-License-Identifier: BSD-3-Clause
// What is told of ranks that have crashed: their processes have left records in the job's folder
// (base/os/crash_record.hpp), which are read when a rank has ended, here on its node, where its program
// lies. Of several the one that fell first is told.
#pragma once

#include <optional>
#include <string>

#include "base/os/crash_record.hpp"

namespace tutti::launcher {

struct Crash {
  int rank = 0;
  std::string text;  // some lines, printable
};

// Where a crash was: by the source, for which programs and libraries are opened, and their debug information is looked
// into, for up to four seconds, behind some tenths of one for a record that is being written; or by the places in the files,
// of which none is opened, at once.
enum class Places { of_source, of_files };

// If `rank` has left a record: the crash that was the first of this node, with the numbers of the
// others. `node`: its name.
std::optional<Crash> find_crash(const std::string& folder, int rank, const std::string& node,
                                Places places = Places::of_source);

// "signal 11 (Segmentation fault): nothing is mapped at address 0x10"
std::string cause_text(const crash::Record& record);

}  // namespace tutti::launcher
