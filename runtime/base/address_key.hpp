// SPDX-License-Identifier: BSD-3-Clause
// The name under which a rank publishes its address, followed by a dot and a number: the launcher gathers
// what is published so from all ranks at once.
#pragma once

namespace tutti {

inline constexpr char kAddressKey[] = "tutti.ucx";

}  // namespace tutti
