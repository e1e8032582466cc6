# SPDX-License-Identifier: BSD-3-Clause
"""Makes a Python wheel of an installation, with the libraries below it: what pip installs into an environment's bin, lib,
include, share, libexec and etc runs on a system that has none of them. There is no module of Python in it; what is in it
is for every Python 3, hence py3-none. The same installation gives the same bytes.

The C library, that of C++ and those of compilers are the system's: the tag names the oldest C library that will do.
Libraries keep their names, for UCX and programs look for them by these, and find each other by the search path that ours
get (DT_RPATH, which also leads what they load). UCX finds its plug-ins in ucx/ beside itself.

usage: wheel.py PREFIX FOLDER     an installation; where the wheel goes"""
import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

# Of the system that it is installed on: the C library, the compilers' own.
SYSTEM = re.compile(r"(ld-linux[^/]*|lib(c|m|dl|rt|pthread|resolv|util|stdc\+\+|gcc_s|gfortran|quadmath))\.so[.\d]*$")
# What a kernel's drivers and their providers belong to: UCX leaves a plug-in out whose libraries are not there.
PLUG_INS_OF_UCX = "lib*.so.0"
OLDEST = (1980, 1, 1, 0, 0, 0)  # that a zip file can say

SUMMARY = "MPI that names what is wrong: mpirun, mpicc and the library, with the standard ABI of MPI 5.0"
RUN = '#!/bin/sh\nexec "$(dirname -- "$(readlink -f -- "$0")")/tutti" run "$@"\n'
LINK = "/* A wheel has no links: the linker reads the library's name here. */\nINPUT({})\n"


def fail(text):
    sys.exit(f"wheel.py: {text}")


def output(*command, **more):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, **more).stdout
    except FileNotFoundError:
        fail(f"there is no {command[0]}; ./dev wheel installs it")
    except subprocess.CalledProcessError as e:
        fail(f"{' '.join(map(str, command))} ends with {e.returncode}: {e.stderr.strip()}")


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def needed(path, own):
    """The libraries that the loader finds for a program on this machine, by the names that they are asked for. `own`: the
    folder of ours, which an installed library has no path to."""
    out = {}
    for line in output("ldd", str(path), env={**os.environ, "LD_LIBRARY_PATH": str(own)}).splitlines():
        if found := re.match(r"\s*(\S+) => (\S+) \(", line):
            out[found[1]] = pathlib.Path(found[2]).resolve()
        elif " => not found" in line:
            fail(f"{path} needs {line.strip()}")
    return {name: file for name, file in out.items() if not SYSTEM.match(name)}


class Wheel:
    def __init__(self, prefix, work):
        self.prefix, self.work = prefix, work
        self.files = {}  # by the path in the environment: a file with its contents
        self.licences = {}
        self.version = output(prefix / "bin/tutti", "--version").split()[1]

    def copy(self, path, source):
        """A file of the installation, or a library, ready to be changed. Returns where it is."""
        to = self.work / path
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, to)
        to.chmod(0o755 if os.access(source, os.X_OK) else 0o644)
        self.files[path] = to
        return to

    def write(self, path, text, mode):
        to = self.work / path
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(text)
        to.chmod(mode)
        self.files[path] = to

    def take_installation(self):
        for source in sorted(self.prefix.rglob("*")):
            path = str(source.relative_to(self.prefix))
            if source.is_dir():
                continue
            if path in ("bin/mpirun", "bin/mpiexec"):
                self.write(path, RUN, 0o755)
            elif re.fullmatch(r"lib(64)?/libmpi(fort)?_abi\.so.*", path):
                self.take_library(path, source)
            else:
                self.take_file(path, source)

    def take_library(self, path, source):
        """Of the library's three names the one that programs ask for is the file."""
        name = re.search(r"\(SONAME\).*\[(.*)\]", output("readelf", "-dW", source))[1]
        folder = path.rpartition("/")[0]
        if path.endswith(".so"):
            self.write(path, LINK.format(name), 0o644)
        elif source.name == name:
            self.lead(self.copy(path, source.resolve()), f"{folder}/{name}")

    def take_file(self, path, source):
        to = self.copy(path, source.resolve())
        if is_elf(to) and not path.endswith(".o"):
            self.lead(to, path)

    def lead(self, file, path):
        """A program or library of ours finds what stands in lib, from its own place."""
        up = "/".join([".."] * path.count("/"))
        output("strip", "--strip-unneeded", file)
        output("patchelf", "--force-rpath", "--set-rpath", f"$ORIGIN/{up}/lib", file)

    def take_libraries_below(self):
        below = {}
        for path, file in self.files.items():
            source = self.prefix / path
            if is_elf(file) and not path.endswith(".o") and not path.endswith(".so"):
                below.update(needed(source, self.prefix / "lib"))
        below = {name: file for name, file in below.items() if not name.startswith("libmpi")}
        for name, file in sorted(below.items()):
            self.take_below(f"lib/{name}", file)
        if "libucs.so.0" not in below:
            fail("the library does not load UCX (libucs.so.0)")
        for plug_in in sorted((below["libucs.so.0"].parent / "ucx").glob(PLUG_INS_OF_UCX)):
            self.take_below(f"lib/ucx/{plug_in.name}", plug_in.resolve())

    def take_below(self, path, file):
        to = self.copy(path, file)
        if re.search(r"\((RUNPATH|RPATH)\)", output("readelf", "-dW", file)):
            # It would lead out of the environment, and hide the path of whoever loads this.
            output("patchelf", "--remove-rpath", to)
        to.chmod(0o644)
        self.take_licence(file)

    def take_licence(self, file):
        """Whoever hands on a library hands on its licence, which Debian's packages have."""
        for name in (file, pathlib.Path(str(file).removeprefix("/usr"))):
            said = subprocess.run(["dpkg", "-S", str(name)], capture_output=True, text=True, check=False)
            if said.returncode == 0:
                break
        else:
            fail(f"{file} belongs to no package of Debian's, so that its licence is not known")
        package = said.stdout.split(":")[0]
        self.licences[package] = pathlib.Path(f"/usr/share/doc/{package}/copyright").read_bytes()

    def tag(self):
        """manylinux_2_36_x86_64: the newest version of the C library that anything here asks for."""
        newest = (2, 17)
        for path, file in self.files.items():
            if is_elf(file) and not path.endswith(".o"):
                for found in re.finditer(r"GLIBC_(\d+)\.(\d+)", output("readelf", "-VW", file)):
                    newest = max(newest, (int(found[1]), int(found[2])))
        return f"py3-none-manylinux_{newest[0]}_{newest[1]}_{os.uname().machine}"

    def save(self, folder):
        tag, info = self.tag(), f"tutti-{self.version}.dist-info"
        target = folder / f"tutti-{self.version}-{tag}.whl"
        licence = (pathlib.Path(__file__).parent.parent / "LICENSE").read_bytes()
        texts = {"METADATA": f"Metadata-Version: 2.1\nName: tutti\nVersion: {self.version}\nSummary: {SUMMARY}\n"
                             "License: BSD-3-Clause\nRequires-Python: >=3\n".encode(),
                 "WHEEL": f"Wheel-Version: 1.0\nGenerator: tutti\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
                 "licenses/LICENSE": licence}
        texts.update({f"licenses/{package}": text for package, text in self.licences.items()})
        members = [(f"tutti-{self.version}.data/data/{path}", file.read_bytes(), file.stat().st_mode & 0o777)
                   for path, file in sorted(self.files.items())]
        members += [(f"{info}/{name}", text, 0o644) for name, text in sorted(texts.items())]
        rows = []
        for name, data, _ in members:
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.append(f"{name},sha256={digest},{len(data)}\n")
        members.append((f"{info}/RECORD", "".join(rows + [f"{info}/RECORD,,\n"]).encode(), 0o644))
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
            for name, data, mode in members:
                entry = zipfile.ZipInfo(name, OLDEST)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = (0o100000 | mode) << 16
                out.writestr(entry, data)
        return target


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    prefix, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    if not (prefix / "bin/tutti").exists():
        fail(f"{prefix} is no installation of Tutti: there is no bin/tutti")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        wheel = Wheel(prefix, pathlib.Path(work))
        wheel.take_installation()
        wheel.take_libraries_below()
        print(wheel.save(folder))


main()
