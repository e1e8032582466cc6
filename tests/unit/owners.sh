#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# owners.sh SOURCE BUILD [--changed|FILE…]: clang proves, by what base/thread_safety.hpp has functions and fields say, that whoever
# needs the engine owned owns it, that whoever touches what a lock guards holds the lock, and that what is the launcher's
# loop's alone is touched on its thread. Of all sources of the runtime, the library and the launcher, of those that have
# changed (changed.sh), or of these alone; nothing is compiled. Exit 77: there is no clang 19, or no history.
set -euo pipefail
source=$(cd "$1" && pwd) build=$(cd "$2" && pwd)
compiler=$(command -v clang++-19) || { echo "skipped: no clang++-19 is installed"; exit 77; }
cd "$source"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

. tests/unit/changed.sh
mapfile -t flags < <(flags_of "$source" "$build")
flags+=(-std=c++20 -Wno-everything -Wthread-safety -Werror=thread-safety)

# What most of them include, read once.
cat >"$scratch/common.hpp" <<'CPP'
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "base/mutex.hpp"
#include "contract/checker.hpp"
#include "engine/engine.hpp"
#include "launcher/loop/on_loop.hpp"
#include "mpi/object/entry_guard.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/request/request.hpp"
CPP
"$compiler" "${flags[@]}" -x c++-header "$scratch/common.hpp" -o "$scratch/common.pch"

check=("$compiler" "${flags[@]}" -include-pch "$scratch/common.pch" -fsyntax-only)

# That it refuses what is wrong, and that alone.
cat >"$scratch/wrong.cpp" <<'CPP'
using tutti::engine::Engine;
struct Counted {
  tutti::Mutex mutex;
  int count TUTTI_GUARDED_BY(mutex) = 0;
};
struct Awaited {
  tutti::Mutex mutex;
  tutti::ConditionVariable changed;
  int ready TUTTI_GUARDED_BY(mutex) = 0;
  int told TUTTI_LOOPS = 0;
};
struct Tried {
  tutti::RecursiveMutex mutex;
  int count TUTTI_GUARDED_BY(mutex) = 0;
};
struct Late {
  tutti::TimedMutex mutex;
  int count TUTTI_GUARDED_BY(mutex) = 0;
};
void right(Tried& tried) {
  if (!tried.mutex.try_lock()) return;
  const tutti::Lock lock(tried.mutex, std::adopt_lock);
  ++tried.count;
}
void right(Late& late, std::chrono::steady_clock::time_point until) {
  if (!late.mutex.try_lock_until(until)) return;
  const tutti::Lock lock(late.mutex, std::adopt_lock);
  ++late.count;
}
void right(Engine& engine, Counted& counted) {
  const Engine::Guard own(engine);
  engine.progress();
  const tutti::Lock lock(counted.mutex);
  ++counted.count;
}
void right(Awaited& awaited) TUTTI_ON_LOOP {
  ++awaited.told;
  const tutti::Lock lock(awaited.mutex);
  while (awaited.ready == 0) awaited.changed.wait(awaited.mutex);
  --awaited.ready;
  const tutti::Unlocked meanwhile(awaited.mutex);
}
void also_right(Awaited& awaited) {
  const auto posted = [&awaited] {
    tutti::launcher::assume_on_loop();
    right(awaited);
  };
  posted();
}
#if WRONG == 1
void wrong(Engine& engine) { engine.progress(); }
#elif WRONG == 2
void wrong(Engine& engine) {
  const Engine::Guard own(engine);
  const Engine::Guard again(engine);
}
#elif WRONG == 3
void wrong(Counted& counted) { ++counted.count; }
#elif WRONG == 4
void wrong(Awaited& awaited) { awaited.changed.wait(awaited.mutex); }
#elif WRONG == 5
void wrong(Awaited& awaited) {
  const tutti::Lock lock(awaited.mutex);
  const tutti::Unlocked meanwhile(awaited.mutex);
  ++awaited.ready;
}
#elif WRONG == 6
void wrong(Awaited& awaited) { ++awaited.told; }
#elif WRONG == 7
void wrong(Awaited& awaited) {
  const auto posted = [&awaited] { right(awaited); };
  posted();
}
#elif WRONG == 8
void wrong(Counted& counted) { const tutti::Lock lock(counted.mutex, std::adopt_lock); }
#elif WRONG == 9
void wrong(Tried& tried) {
  const bool got = tried.mutex.try_lock();
  ++tried.count;
  if (got) tried.mutex.unlock();
}
#elif WRONG == 10
void wrong(Late& late, std::chrono::steady_clock::time_point until) {
  if (late.mutex.try_lock_until(until)) return;
  ++late.count;
}
#endif
CPP
"${check[@]}" -DWRONG=0 "$scratch/wrong.cpp" || { echo "wrong: what is right is refused"; exit 1; }
for wrong in {1..10}; do
  if "${check[@]}" -DWRONG=$wrong "$scratch/wrong.cpp" 2>"$scratch/said" || ! grep -q thread-safety "$scratch/said"; then
    echo "wrong: what is wrong is not refused (case $wrong of this script)"
    exit 1
  fi
done

files=("${@:3}")
if [ "${files[0]:-}" = --changed ]; then
  . tests/unit/changed.sh
  names=$(changed) || { echo "skipped: this is no clone with a history"; exit 77; }
  mapfile -t files < <(sources_of <<<"$names" | sort -u)
  [ ${#files[@]} -gt 0 ] || { echo "nothing has changed that clang reads here"; exit 0; }
fi
[ ${#files[@]} -gt 0 ] ||
  mapfile -t files < <(find runtime lib launcher -name '*.cpp' | sort; find "$build/lib" -maxdepth 1 -name entries.cpp)
printf '%s\0' "${files[@]}" | xargs -0 -P 2 -n 8 "${check[@]}" || {
  echo "wrong: a function needs what its caller does not have; see runtime/base/thread_safety.hpp"
  exit 1
}
echo "${#files[@]} sources: whoever needs the engine, a lock or the loop's thread has it"
