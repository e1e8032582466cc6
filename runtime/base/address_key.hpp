// SPDX-License-Identifier: BSD-3-Clause
// The name under which a rank publishes its address, followed by a dot and a number; and the name by which it tells the
// fence behind that, with the former as the value. Tutti's servers give what all ranks have published so along with
// the fence.
#pragma once

namespace tutti {

inline constexpr char kAddressKey[] = "tutti.ucx", kPublishedKey[] = "tutti.published";

}  // namespace tutti
