// SPDX-License-Identifier: BSD-3-Clause
// What is worth a line for a job, and not one for each of its ranks.
#pragma once

#include <string>

namespace tutti {

// Whether this process is the first on its node of the job to ask so for this text. Where the job has no folder that they
// have in common, the first time that this process does.
bool is_first_to_say(const std::string& text);

}  // namespace tutti
