// SPDX-License-Identifier: BSD-3-Clause
// A list of processes as bytes, for other processes: its pieces where these are few, else its numbers.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/bytes.hpp"
#include "base/process_list.hpp"

namespace tutti {

void put_list(Bytes& to, const ProcessList& list);
// Takes it off the front of `from`; nullopt if that is no such list.
std::optional<ProcessList> get_list(std::span<const std::byte>& from);

}  // namespace tutti
