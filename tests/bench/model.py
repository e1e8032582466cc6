# SPDX-License-Identifier: BSD-3-Clause
"""Measures what `tutti plan --costs` takes: within this node, and between two nodes that are named. As a test it asks whether
what is printed is taken by that command, and of two daemons on this machine; no assertion on speed.
usage: model.py TUTTI BENCH_MODEL [--measure [--host A,B]]"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time


def measured(tutti, program, where, *options):
    """The lines that the program prints of itself."""
    done = subprocess.run([tutti, "run", "-n", "2", *options, program, where], stdout=subprocess.PIPE, text=True, timeout=100)
    if done.returncode != 0:
        sys.exit(f"dev bench model: the job ended with {done.returncode}")
    return done.stdout


def cpu():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown CPU"


def costs(tutti, program, host, *options):
    text = f"# for tutti plan --costs: {cpu()}, {time.strftime('%Y-%m-%d %H:%M')}\n"
    if os.getloadavg()[0] > 0.5:
        text += f"# others use this machine (a load of {os.getloadavg()[0]:.1f}): measure again when they do not\n"
    text += "# within a node\n" + measured(tutti, program, "node", "--bind-to", "core")
    if not host:
        return text + "# between nodes: not measured (--host A,B); what is not named is as in docs/scale.md\n"
    return text + f"# between {host}\n" + measured(tutti, program, "between", "--host", host, "--map-by", "node", *options)


def check(tutti, program):
    with tempfile.TemporaryDirectory() as folder:
        shell = pathlib.Path(folder, "shell")
        shell.write_text('#!/bin/sh\nshift\nexec sh -c "$*"\n')
        shell.chmod(0o755)
        text = costs(tutti, program, "a.invalid:1,b.invalid:1", "--set", f"launch.rsh={shell}")
        print(text)
        found = dict(re.findall(r"^(\w+) +([\d.]+) (?:us|GB/s|B)$", text, re.M))
        names = {"flag", "look", "copy", "read", "local_overhead", "local_latency", "step",
                 "overhead", "latency", "bandwidth", "eager"}
        assert set(found) == names, names ^ set(found)
        assert all(float(found[name]) > 0 for name in names - {"look", "latency", "local_latency", "eager"}), found
        file = pathlib.Path(folder, "costs")
        file.write_text(text)
        plan = [tutti, "plan", "allreduce", "--ranks", "8", "--nodes", "2", "--bytes", "1m"]
        own, other = (subprocess.run([*plan, *more], capture_output=True, text=True, check=True).stdout
                      for more in (["--costs", str(file)], []))
        assert "time by the model" in own and own != other, own


def main():
    parser = argparse.ArgumentParser(prog="dev bench model", allow_abbrev=False,
                                     description="Measures what tutti plan --costs takes, and prints it.")
    parser.add_argument("tutti", help=argparse.SUPPRESS)
    parser.add_argument("program", help=argparse.SUPPRESS)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--host", metavar="A,B", help="also between these two nodes, which see the same build")
    options = parser.parse_args()
    if options.measure:
        print(costs(options.tutti, options.program, options.host), end="")
    else:
        check(options.tutti, options.program)


main()
