// SPDX-License-Identifier: BSD-3-Clause
// The commands of `tutti` that ask and tell, beside those that have headers of their own: from their arguments to the
// exit code.
#pragma once

#include <string>
#include <vector>

namespace tutti::launcher {

int info_command(const std::vector<std::string>& arguments);
int jobs_command(const std::vector<std::string>& arguments);
int doctor_command(const std::vector<std::string>& arguments);
int report_command(const std::vector<std::string>& arguments);

}  // namespace tutti::launcher
