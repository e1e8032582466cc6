// SPDX-License-Identifier: BSD-3-Clause
// The commands of `tutti` that ask and tell, beside those that have headers of their own: from their arguments to the
// exit code.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti::launcher {

// The names by which the command `tutti` is `tutti run`; with a dot and a word behind it, too, as distributions call the
// commands of several MPIs beside each other (mpirun.tutti).
inline bool is_mpirun(std::string_view name) {
  const std::string_view first = name.substr(0, name.find('.'));
  return first == "mpirun" || first == "mpiexec";
}

int info_command(const std::vector<std::string>& arguments);
int jobs_command(const std::vector<std::string>& arguments);
int doctor_command(const std::vector<std::string>& arguments);
// By a program of its own, which has the plans: does not return where that runs.
int plan_command(const std::vector<std::string>& arguments);
// Live in the terminal, or once.
int top_command(const std::vector<std::string>& arguments);
int report_command(const std::vector<std::string>& arguments);

}  // namespace tutti::launcher
