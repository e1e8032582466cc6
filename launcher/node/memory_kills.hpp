// SPDX-License-Identifier: BSD-3-Clause
// Whether the kernel kills processes of this node for want of memory, by what it counts of our control group or of the
// machine, and by its log where that may be read. A process that is killed so ends by SIGKILL, as any other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tutti::launcher {

class MemoryKills {
 public:
  MemoryKills();  // counts from here on
  ~MemoryKills();
  MemoryKills(const MemoryKills&) = delete;

  // What is known of the end of a process that SIGKILL has ended, as a part of a sentence: "where the kernel has killed
  // it for that". 0: some process. Empty: no such kill has been seen since the last call.
  std::string look(int pid);

 private:
  int log_ = -1;
  std::optional<uint64_t> of_group_, of_machine_;
};

// Whether a line of the kernel's log tells of such a kill: of this process or, with 0, of any.
bool tells_of_kill(std::string_view line, int pid);

uint64_t memory_of(int pid);              // in use by a process; bytes, 0: not known
std::string memory_text(uint64_t bytes);  // "1.9 GiB"
std::string memory_bound();               // of our control group, or of the machine

}  // namespace tutti::launcher
