// SPDX-License-Identifier: BSD-3-Clause
// Two ways to name an instruction of a program's or a library's file: where its byte lies in the file, which
// /proc/PID/maps has, and the address that the file itself gives it, which debug information has.
#pragma once

#include <cstdint>
#include <string>

namespace tutti {

// From the offset to the address; the offset where the file cannot be read.
uint64_t address_at_file_offset(const std::string& file, uint64_t offset);

}  // namespace tutti
