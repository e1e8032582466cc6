// SPDX-License-Identifier: BSD-3-Clause
// The words of plans (coll/), which this room runs and speaks as its own.
#pragma once

#include "coll/plan.hpp"
#include "coll/shape.hpp"

namespace tutti::exec {

using coll::ArrayLengths;
using coll::Buf;
using coll::Call;
using coll::Plan;
using coll::Region;
using coll::Scratch;
using coll::Shape;
using coll::Step;
using coll::Unit;

}  // namespace tutti::exec
