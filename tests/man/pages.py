# SPDX-License-Identifier: BSD-3-Clause
"""Holds that there is a manual page for each function that mpi.h declares, that the index names each, that what a page
refers to is there, that groff and mandoc, where they are, have nothing to say against
it, and that man and apropos find it.
usage: pages.py BUILD_FOLDER"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FORTRAN_ALONE = {"MPI_F_sync_reg", "MPI_Sizeof"}
build = pathlib.Path(sys.argv[1])
folder = build / "man" / "man3"
source = pathlib.Path(__file__).resolve().parents[2] / "man"
declared = set(re.findall(r"\b(MPI_[A-Z][A-Za-z]*_?\w*)\(", (build / "include" / "mpi.h").read_text()))
functions = {name for name in declared if f"P{name}(" in (build / "include" / "mpi.h").read_text()}
pages = {path.stem: path.read_text() for path in folder.glob("MPI_*.3")}
index = (build / "man" / "man7" / "tutti-functions.7").read_text()
found = [f"{name} has no page" for name in sorted(functions - set(pages))]
found += [f"there is a page of {name}, which mpi.h does not declare" for name in sorted(
    set(pages) - functions - FORTRAN_ALONE)]
others = {path.name.rpartition(".")[0]: path.suffix[1:] for path in source.glob("*.[1-9]")} | {"tutti-functions": "7"}
for name, text in sorted(pages.items()):
    if text.startswith(".so "):
        if not (folder.parent / text.split()[1]).exists():
            found.append(f"{name} leads to {text.split()[1]}, which is not there")
        continue
    if f".BR {name} (3)" not in index:
        found.append(f"the index does not name {name}")
    for other, section in re.findall(r"^\.BR (\S+) \((\d)\)", text, re.M):
        other = other.replace("\\-", "-")
        if not (other in pages if section == "3" else others.get(other) == section):
            found.append(f"{name} refers to {other}({section}), which is not there")
    own = re.search(r"^\\fI(\w+)\\fP \(.*\)\n(?:[^.\n].*\n)*?.*means nothing where \\fI\1\\fP", text, re.M)
    if own:
        found.append(f"{name} says of {own[1]} that it means nothing where it is something else itself")
    if re.search(r"^\.SH KIND\n.*nonblocking", text, re.M) and "in which this rank waits" in text:
        found.append(f"{name} returns at once, and is said to wait")
    if any(len(line) > 200 for line in text.splitlines()):
        found.append(f"{name} has a line that no reader of sources can read")

environment = dict(os.environ, LC_ALL="C.UTF-8", MANWIDTH="80", MANPATH=str(folder.parent))
full = [str(path) for path in sorted(folder.glob("*.3")) if not pages[path.stem].startswith(".so ")]
if shutil.which("groff"):
    command = ["groff", "-man", "-Tutf8", "-ww", "-z", *full]
    said = subprocess.run(command, capture_output=True, text=True, env=environment)
    found += said.stderr.splitlines()
if shutil.which("mandoc"):
    said = subprocess.run(["mandoc", "-Tlint", "-Wwarning", *full], capture_output=True, text=True)
    found += [line for line in said.stdout.splitlines() if "missing date" not in line]
if shutil.which("man"):
    shown = subprocess.run(["man", "MPI_Send"], capture_output=True, text=True, env=environment)
    if "int MPI_Send(" not in shown.stdout:
        found.append(f"man does not show MPI_Send: {shown.stderr}")
if shutil.which("mandb") and shutil.which("apropos"):
    with tempfile.TemporaryDirectory() as copied:
        shutil.copytree(folder.parent, copied, dirs_exist_ok=True)
        subprocess.run(["mandb", "--create", "--quiet", copied], env=environment, capture_output=True)
        command = ["apropos", "-M", copied, "join the elements of all ranks"]
        said = subprocess.run(command, capture_output=True, text=True)
        if "MPI_Allreduce (3)" not in said.stdout:
            found.append(f"apropos does not find MPI_Allreduce: {said.stdout}{said.stderr}")
print("\n".join(found[:50]) or f"{len(functions)} functions of mpi.h have a page")
sys.exit(bool(found))
