# SPDX-License-Identifier: BSD-3-Clause
"""Makes the source that holds the commit which is being built (runtime/base/commit.hpp). It is asked for at each build, and
writes only where the text changes. In a clone git knows the commit; in what `git archive` has packed the file
packaging/commit.txt does, where git has put it; elsewhere nobody, and the text is empty. So two builds of one archive have
the same text, in whichever folder.
usage: commit.py SOURCE OUTPUT"""
import pathlib
import subprocess
import sys

LENGTH = 12


def git(source, *words):
    """What git says; None where it is not there, or refuses, as it does in a clone of somebody else's."""
    try:
        done = subprocess.run(["git", "-C", str(source), *words], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def commit(source):
    # A folder below somebody else's clone is none: hence the look.
    if (source / ".git").exists():
        head = git(source, "rev-parse", "HEAD")
        if not head:
            return ""
        changes = git(source, "status", "--porcelain", "--untracked-files=no")
        return head[:LENGTH] + (" with changes" if changes else "")
    packed = (source / "packaging/commit.txt").read_text().strip()
    return packed[:LENGTH] if not packed.startswith("$") else ""


def text(source):
    return f"""// Made by lib/commit.py.
#include "base/commit.hpp"

const char* const tutti::kCommit = "{commit(source)}";
"""


if __name__ == "__main__":
    made, output = text(pathlib.Path(sys.argv[1])), pathlib.Path(sys.argv[2])
    if not output.exists() or output.read_text() != made:
        output.write_text(made)
