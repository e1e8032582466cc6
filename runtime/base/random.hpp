// SPDX-License-Identifier: BSD-3-Clause
// Numbers that nobody can guess, from the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tutti {

uint64_t random_word();
std::string random_hex(size_t bytes);  // two digits for each

}  // namespace tutti
