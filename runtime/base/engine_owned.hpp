// SPDX-License-Identifier: BSD-3-Clause
// That the engine is owned (engine/engine.hpp), as something that functions can ask of their callers and clang can
// prove (base/thread_safety.hpp). It stands below the engine since transports ask for it, too. A process has one
// engine; a test that has several is taken to own all of them, or none.
#pragma once

#include "base/thread_safety.hpp"

namespace tutti {

class TUTTI_CAPABILITY("role") EngineOwned {};
inline constexpr EngineOwned engine_owned;

// Of a function: it is called with the engine owned; or without, for it takes the engine itself.
#define TUTTI_ENGINE_OWNED TUTTI_REQUIRES(::tutti::engine_owned)
#define TUTTI_ENGINE_NOT_OWNED TUTTI_EXCLUDES(::tutti::engine_owned)
// Of a field: its engine's owner's.
#define TUTTI_OWNERS TUTTI_GUARDED_BY(::tutti::engine_owned)

// What is called through a pointer, with the engine owned as its type's comment says, begins with this.
inline void assume_engine_owned() TUTTI_ASSERTS(engine_owned) {}

}  // namespace tutti
