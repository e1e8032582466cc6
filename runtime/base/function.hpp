// SPDX-License-Identifier: BSD-3-Clause
// The type of a function's number, for those who hand one on. The numbers themselves are in functions.hpp, and what
// the functions are called in function_names.hpp: both are made at build time (lib/functions.py).
#pragma once

#include <cstdint>

namespace tutti {

enum class Function : uint16_t;

}  // namespace tutti
