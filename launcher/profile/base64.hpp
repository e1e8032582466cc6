// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

namespace tutti::launcher {

std::string base64(std::string_view bytes);

}  // namespace tutti::launcher
