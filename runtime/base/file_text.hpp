// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "base/result.hpp"

namespace tutti {

// All of a file, which may be empty, or be a pipe. The error says why it cannot be read, and leaves its name to the
// caller.
Result<std::string> text_of(const std::string& file);

}  // namespace tutti
