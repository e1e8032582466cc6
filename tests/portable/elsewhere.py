#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every source of the library and of the commands compiles for another processor, or against another C library, without those
other libraries that they use: of these this machine's headers do, which are the same everywhere. Nothing is linked and nothing
runs, so that this finds what is one processor's or glibc's alone, and no more.
usage: elsewhere.py BUILD SOURCE riscv64|powerpc64le|musl   (BUILD: of this machine, for the headers that are made)
For a processor by Debian's cross compiler. For musl by clang with its own standard library, since that of GCC is made for one
C library. Exit 77: not asked for (TUTTI_LONG=1), or something is missing."""
import concurrent.futures
import json
import os
import pathlib
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile

LIBRARIES = ("fmt", "yaml-cpp", "ucp", "ucs", "uct", "ucm", "hwloc", "hwloc.h", "event2", "event.h", "elfutils", "libelf.h", "gelf.h",
             "dwarf.h", "valgrind")
KERNEL = ("linux", "asm", "asm-generic")  # of glibc's compilers these belong to the C library
# What UCX 1.13 has for each processor that it knows. riscv64, which later versions know, is given AArch64's here.
OF_PROCESSORS = "ucs/arch/global_opts.h"
# Read once for all sources.
COMMON = "".join(f"#include <{name}>\n" for name in ("algorithm", "atomic", "charconv", "chrono", "functional", "map", "memory", "optional",
                                                      "string", "vector", "fmt/format.h"))
# What clang's standard library lacks before its version 20, and GCC's has.
LACKING = """#if _LIBCPP_VERSION < 200000
namespace std { from_chars_result from_chars(const char*, const char*, double&, chars_format = chars_format::general); }
#endif
"""
# Wants a mutex without a destructor, which GCC's library has with musl as well, and clang's nowhere.
NOT_WITH_CLANGS = "worker_pool.cpp"


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def link_headers(names, into):
    """What several folders have of a name is put together, as it is for a compiler that looks in each of them."""
    for folder in map(pathlib.Path, ("/usr/include", f"/usr/include/{platform.machine()}-linux-gnu")):
        for name in names:
            found = folder / name
            for path in found.rglob("*") if found.is_dir() else (found,):
                if path.is_dir() or not path.exists():
                    continue
                there = into / path.relative_to(folder)
                there.parent.mkdir(parents=True, exist_ok=True)
                there.symlink_to(path)


def compiler_for_musl(headers):
    """The compilers of C and C++ with what they want beyond a source's own words."""
    clang = next((found for version in ("-21", "-20", "-19", "-18", "-17", "") if (found := shutil.which(f"clang++{version}"))), None)
    if not clang:
        skip("there is no clang")
    resources = pathlib.Path(subprocess.run([clang, "-print-resource-dir"], capture_output=True, text=True, check=True).stdout.strip())
    library, musl = resources.parents[2] / "include/c++/v1", pathlib.Path(f"/usr/include/{platform.machine()}-linux-musl")
    if not library.is_dir() or not musl.is_dir():
        skip(f"there is no {library if musl.is_dir() else musl} (Debian: musl-dev, libc++-19-dev)")
    link_headers(KERNEL, headers)
    words = [f"--target={platform.machine()}-linux-musl", "-fsyntax-only", "-w", "-nostdinc", "-D_GNU_SOURCE"]
    system = [word for folder in (musl, resources / "include", headers) for word in ("-isystem", str(folder))]
    # The constant: where atomics' constructors are no built-in, each element of an array is a step.
    plus = ["-nostdinc++", "-D_LIBCPP_HAS_MUSL_LIBC", "-fconstexpr-steps=100000000", "-isystem", str(library)]
    return [clang.replace("clang++", "clang"), *words, *system], [clang, *words, *plus, *system]


def compiler_for(processor, headers):
    for end in ("gcc", "g++"):
        if not shutil.which(f"{processor}-linux-gnu-{end}"):
            skip(f"there is no {processor}-linux-gnu-{end}")
    words = ["-O0", "-Wall", "-Wextra", "-Werror", "-c", "-o", "/dev/null", "-isystem", str(headers)]
    return [f"{processor}-linux-gnu-gcc", *words], [f"{processor}-linux-gnu-g++", *words, "-Wno-missing-field-initializers"]


def words_of(command):
    """A source's own folders, names and warnings."""
    words = shlex.split(command)
    pmix = [f"-isystem{words[at + 1]}" for at, word in enumerate(words) if word == "-isystem" and "pmix" in words[at + 1]]
    return [word for word in words if word.startswith(("-I", "-D", "-W"))] + pmix


def main():
    build, source = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    if os.environ.get("TUTTI_LONG") != "1":
        skip("it compiles everything; TUTTI_LONG=1 asks for it")
    tests = (source / "tests", build / "tests")
    commands = [each for each in json.loads((build / "compile_commands.json").read_text())
                if each["file"].endswith((".c", ".cpp")) and not each["file"].endswith("_avx2.cpp")  # that is one processor's
                and not any(pathlib.Path(each["file"]).is_relative_to(folder) for folder in tests)]
    with tempfile.TemporaryDirectory() as work:
        headers, common = pathlib.Path(work, "headers"), pathlib.Path(work, "common.hpp")
        headers.mkdir()
        link_headers(LIBRARIES, headers)
        if sys.argv[3] == "riscv64":
            known = headers / OF_PROCESSORS
            text = known.read_text().replace("defined(__aarch64__)", "1")
            known.unlink()
            known.write_text(text)
        is_musl = sys.argv[3] == "musl"
        if is_musl:
            commands = [each for each in commands if not each["file"].endswith(NOT_WITH_CLANGS)]
        of_c, of_plus = compiler_for_musl(headers) if is_musl else compiler_for(sys.argv[3], headers)
        of_c.append("-Werror=implicit-function-declaration")
        of_plus += ["-std=c++20", "-fPIC"]
        common.write_text(COMMON + (LACKING if is_musl else ""))
        made = [word for word in of_plus if word not in ("-fsyntax-only", "-c", "-o", "/dev/null")]
        subprocess.run([*made, "-x", "c++-header", str(common), "-o", f"{common}.{'pch' if is_musl else 'gch'}"], check=True)
        read = ["-include-pch", f"{common}.pch"] if is_musl else ["-include", str(common)]

        def compiles(each):
            compiler = of_c if each["file"].endswith(".c") else [*of_plus, *read]
            done = subprocess.run([*compiler, *words_of(each["command"]), each["file"]], cwd=each["directory"], capture_output=True,
                                  text=True, check=False)
            return each["file"], done

        wrong = 0
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for file, done in pool.map(compiles, commands):
                if done.returncode != 0:
                    wrong += 1
                    print(f"wrong: {pathlib.Path(file).relative_to(source)}\n{done.stderr[:2000]}", flush=True)
    print(f"{len(commands) - wrong} of {len(commands)} sources compile for {sys.argv[3]}")
    return wrong != 0 or not commands


if __name__ == "__main__":
    sys.exit(main())
