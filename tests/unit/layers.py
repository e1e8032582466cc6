# SPDX-License-Identifier: BSD-3-Clause
"""Holds the layers: who may include whom, that nothing inside calls a function of MPI, and that nothing takes a lock of
which clang could not prove who holds it.
usage: layers.py SOURCE_FOLDER"""
import pathlib
import re
import sys

# By room, a folder: the rooms that its files may include beside their own. A folder that is not listed
# is an offence, so that no file can leave its guard by moving.
BASE = ["base"]
OS = ["base/os", *BASE]
LIFE = ["life", *OS]
TRANSPORT = ["transport", "transport/shared", "members", "memory", *LIFE]
ENGINE = ["engine", "engine/wait", *TRANSPORT]
PLANS = ["coll", *BASE]
EXEC = ["exec", "contract", *PLANS, *ENGINE]
BELOW_MPI = ["exec", "rma", "io", "contract", "boot", "survival", *PLANS, *ENGINE]
OBJECT = ["mpi/object", *BELOW_MPI]
TYPE = ["mpi/type", *OBJECT]
COMM = ["mpi/comm", *TYPE]
REQUEST = ["mpi/request", *COMM]
COLL = ["mpi/coll", "mpi/check", *REQUEST]
# Of the launcher: a job as data, and what its nodes and the launcher say to each other; who asks.
DATA = ["launcher/data", "launcher/loop", "launcher/place", *LIFE]
ASK = ["launcher/daemons", "launcher/node", "launcher/pmix", "launcher/words", *DATA]
MAY_INCLUDE = {
    "launcher": [*ASK, "launcher/ask", "launcher/family", "launcher/profile", "launcher/tune"],
    "launcher/loop": OS,
    "launcher/place": OS,
    "launcher/data": ["launcher/loop", "launcher/place", *OS],
    "launcher/words": DATA,
    "launcher/pmix": DATA,
    "launcher/node": [*DATA, "launcher/pmix", "profile"],
    "launcher/daemons": [*DATA, "launcher/node"],
    "launcher/family": [*DATA, "launcher/daemons"],
    "launcher/ask": ASK,
    # What profiles of ranks say together: of data alone.
    "launcher/profile": ["launcher/data", "profile", *LIFE],
    # What jobs of its own, which it starts as a user does, say of settings.
    "launcher/tune": ["launcher/ask", "launcher/place", *OS],
    # A program of its own, which has the library's plans.
    "launcher/plan": ["model", *PLANS],
    "lib": ["mpi/object", "mpi/type", "mpi/comm", "mpi/request", "mpi/p2p", "mpi/coll", "mpi/rma",
            "mpi/file", "mpi/topology", "mpi/partitioned", "mpi/tool", "mpi/process", "mpi/env", "mpi/session",
            "mpi/survival", "profile", *LIFE],
    "runtime/base": [],
    "runtime/base/os": BASE,
    "runtime/life": OS,
    # How a page of it lies in memory (page.hpp) is data alone, which the launcher reads.
    "runtime/profile": LIFE,
    "runtime/members": BASE,
    "runtime/survival": BASE,
    "runtime/memory": BASE,
    "runtime/boot": ["members", *OS],
    # transport/ holds the contract (transport.hpp), which all transports include, the list of those that a process has
    # (transport_list.hpp), and the router over it (router.hpp), which includes them all.
    "runtime/transport": [*TRANSPORT, "transport/shm", "transport/ucx"],
    "runtime/transport/shared": TRANSPORT,
    "runtime/transport/shm": TRANSPORT,
    "runtime/transport/ucx": TRANSPORT,
    "runtime/transport/testing": TRANSPORT,
    "runtime/engine": ENGINE,
    "runtime/engine/wait": ENGINE,
    "runtime/contract": ENGINE,
    # rma/ holds what the ways of operations tell and ask (origin_side.hpp, target_side.hpp), and who chooses among
    # them (window_end.hpp).
    "runtime/rma": ["rma/paths", *ENGINE],
    "runtime/rma/paths": ["rma", *ENGINE],
    "runtime/io": LIFE,
    "runtime/io/testing": ["io", *LIFE],
    "runtime/coll": PLANS,
    # What plans take on machines that are not here: as they are made, bound and cut into rounds.
    "runtime/model": EXEC,
    # exec/ holds what all executions have (execution.hpp), and what makes one of either kind (preparation.hpp).
    "runtime/exec": ["exec/program", "exec/graph", *EXEC],
    "runtime/exec/program": EXEC,
    "runtime/exec/graph": EXEC,
    "runtime/mpi/object": OBJECT,
    "runtime/mpi/type": TYPE,
    "runtime/mpi/comm": COMM,
    "runtime/mpi/request": REQUEST,
    "runtime/mpi/check": [*REQUEST],
    "runtime/mpi/p2p": [*COLL],
    "runtime/mpi/coll": [*COLL, "mpi/p2p"],
    "runtime/mpi/partitioned": ["mpi/check", *REQUEST],
    "runtime/mpi/rma": [*COLL],
    "runtime/mpi/file": [*COLL, "mpi/rma"],
    "runtime/mpi/tool": [*COLL],
    "runtime/mpi/topology": [*COLL],
    "runtime/mpi/session": [*COLL, "mpi/p2p", "mpi/env"],
    "runtime/mpi/process": [*COLL],
    "runtime/mpi/survival": [*COLL],
    "runtime/mpi/env": [*COLL, "mpi/p2p", "mpi/tool", "mpi/process", "mpi/rma", "mpi/file", "transport/testing", "profile"],
}
# Rooms that only these files include, of all that may.
DOORS = {
    # What operations mean for epochs is told without a word of the ways that they go; who chooses a way knows them.
    "rma/paths": r"runtime/rma/(window_end\.hpp|paths/)",
}
# The headers that the build makes, which stand in no room, and the files that may include each.
GENERATED = {
    "mpi.h": r"",  # everyone
    "functions.hpp": r"lib/|runtime/mpi/|runtime/profile/|runtime/coll/collective\.cpp|runtime/contract/|runtime/base/(os/crash_handler|flight)",
    "view_text.hpp": r"launcher/profile/profile_html\.cpp",
    "function_names.hpp": r"lib/|runtime/mpi/|runtime/contract/|runtime/base/(os/crash_handler|flight)",
}
# The files that may include a library's headers.
LIBRARIES = {
    r"ucp/|ucs/|uct/|ucm/": r"runtime/transport/ucx/",
    r"pmix": r"runtime/boot/pmix(_ends)?\.cpp|launcher/pmix/",
    r"hwloc": r"launcher/place/topology",
    r"event2/": r"launcher/loop/loop\.cpp|runtime/engine/wait/progress\.cpp",
    r"yaml-cpp/": r"runtime/base/config\.cpp",
    r"elfutils/": r"launcher/node/where\.cpp",
    r"\w*intrin\.h|arm_neon\.h|arm_acle\.h": r"runtime/base/cpu\.hpp",
}
# Locks whose types say nothing to clang's proof (tests/unit/owners.sh): runtime/base/mutex.hpp has those that do.
MUTE_LOCK = (r"\bstd\s*::\s*(?:(?:\w+_)?mutex|condition_variable(?:_any)?|lock_guard|unique_lock|scoped_lock|shared_lock)\b"
             r"|\bpthread_(?:mutex|rwlock|spin|cond)_\w+")


def without_comments_and_strings(text):
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', '""', text, flags=re.S)


def offences(path, place, room):
    allowed = {*MAY_INCLUDE[room], room.removeprefix("runtime/")}
    own_rooms = {name.removeprefix("runtime/") for name in MAY_INCLUDE}
    text = path.read_text()
    for number, line in enumerate(text.splitlines(), 1):
        own = re.match(r'\s*#include "(?:([^"]+)/)?([^"/]+)"', line)
        if own and own[1] and own[1] not in own_rooms:
            yield f"{place}:{number}: there is no room {own[1]}/"
        elif own and own[1] and (own[1] not in allowed or not re.match(DOORS.get(own[1], ""), place)):
            yield f"{place}:{number}: may not include {own[1]}/"
        elif own and not own[1] and own[2] not in GENERATED:
            # What lib/ has beside a file, it names as C does.
            if room != "lib" or not (path.parent / own[2]).is_file():
                yield f"{place}:{number}: {own[2]} is named without its room"
        elif own and not own[1] and not re.match(GENERATED[own[2]], place):
            yield f"{place}:{number}: may not include {own[2]}"
        foreign = re.match(r"\s*#include <([^>]+)>", line)
        for pattern, where in LIBRARIES.items():
            if foreign and re.match(pattern, foreign[1]) and not re.match(where, place):
                yield f"{place}:{number}: may not include <{foreign[1]}>"
    code = without_comments_and_strings(text)
    if place != "runtime/base/cpu.hpp":
        for found in re.finditer(r"\b(?:__builtin_ia32_\w+|__builtin_cpu_supports|__rdtsc|asm volatile)\b", code):
            yield f"{place}: {found[0]} belongs into runtime/base/cpu.hpp"
    if place != "runtime/base/mutex.hpp":
        for found in re.finditer(MUTE_LOCK, code):
            yield f"{place}: {found[0]} proves nothing: take Mutex, Lock and the like of runtime/base/mutex.hpp"
    if not place.startswith("lib/"):
        for call in re.finditer(r"(?<![\w.])P?MPI_[A-Z][a-z]\w*\s*\((?!\*)", code):
            yield f"{place}: calls {call[0].rstrip('( ')}"


def wrong_about_locks():
    """What the rule about locks says, and should not, of a few lines."""
    refused = ["std::mutex mutex_;", "static std::recursive_mutex all;", "std::timed_mutex m;", "std::shared_mutex m;",
               "std::condition_variable moved_;", "std :: condition_variable_any c;", "pthread_mutex_t m;",
               "const std::lock_guard lock(mutex_);", "std::unique_lock<std::mutex> locked() const;",
               "using std::mutex;", 'say("of std::mutex"); std::scoped_lock both(a, b);']
    allowed = ["Mutex mutex_;", "const Lock lock(mutex_);", "tutti::ConditionVariable moved_;", "std::once_flag asked_;",
               "const Lock lock(mutex(), std::adopt_lock);", "// A std::mutex would do.", 'say("a std::mutex");']
    for line in refused + allowed:
        if bool(re.search(MUTE_LOCK, without_comments_and_strings(line))) != (line in refused):
            yield f"layers.py: {line} is {'not ' if line in refused else ''}refused"


def main():
    source = pathlib.Path(sys.argv[1])
    found, files = list(wrong_about_locks()), 0
    for top in ("launcher", "lib", "runtime"):
        for path in sorted((source / top).rglob("*.[ch]pp")):
            files += 1
            place = str(path.relative_to(source))
            room = str(path.parent.relative_to(source))
            if room not in MAY_INCLUDE:
                found.append(f"{place}: {room}/ is no room that layers.py knows")
                continue
            found += offences(path, place, room)
    print("\n".join(found) or f"{files} files keep to their layers")
    return bool(found) or files < 50


sys.exit(main())
