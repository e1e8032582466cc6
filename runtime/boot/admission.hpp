// SPDX-License-Identifier: BSD-3-Clause
// Whether the PMIx server of Tutti's launcher takes this process for one of the launcher's user. By itself PMIx compares
// the numbers of user and group that a client claims with those of the launcher. In a user namespace a process has other
// numbers than outside. Tutti's servers ask the kernel whose a connection is, and where that answers they offer that a
// client claims nothing.
#pragma once

#include <string>

#include "base/result.hpp"

namespace tutti::boot {

// Numbers of the launcher, where this process has others; empty: the same, or nobody said.
std::string other_numbers_of_launcher();
// PMIx claims nothing while there is one, unless the server wants it to; then it would not be let in.
class NoClaim {
 public:
  NoClaim();
  ~NoClaim();
  NoClaim(const NoClaim&) = delete;
  explicit operator bool() const { return offered_; }

 private:
  bool offered_ = false, set_ = false;
};
// The error of who was not let in all the same.
Error not_let_in(const std::string& launcher);

}  // namespace tutti::boot
