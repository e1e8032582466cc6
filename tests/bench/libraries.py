# SPDX-License-Identifier: BSD-3-Clause
"""The MPI libraries side by side: how each compiles a program and starts it.

Pinned means: rank i on the i-th of the two cores, by the launcher's own option. Shared means: any
number of ranks on these cores, unbound, with the library's own setting for waiting politely.
"""
import os
import shutil
import subprocess

# Open MPI refuses root without these.
OPEN_MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# The names that Open MPI's UCX layer accepts are InfiniBand's, unless it is told otherwise.
OPEN_MPI_UCX = ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any"]


class Library:
    def __init__(self, name, compiler, launcher, always=(), pinned=(), shared=(), environment=None):
        self.name = name
        self.compiler = compiler
        self.launcher = launcher
        self.always, self.pinned, self.shared = list(always), list(pinned), list(shared)
        self.environment = environment or {}
        self.version = ""   # as MPI_Get_library_version says
        self.program = None  # the compiled benchmark

    def missing(self):
        """What this library lacks here, or None."""
        for tool in (self.compiler, self.launcher):
            if not shutil.which(tool):
                return f"there is no {tool}"
        return None

    def compile(self, sources, folder):
        """Compiles the benchmark; returns what went wrong, or None."""
        program = os.path.join(folder, "bench-" + os.path.basename(self.name).split("+")[0])
        command = [self.compiler, "-std=gnu11", "-O2", "-w", "-o", program, *sources, "-pthread"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return "does not compile:\n" + done.stderr
        self.program = program
        return None

    def command(self, ranks, pinned, arguments):
        how = self.pinned if pinned else self.shared
        return [self.launcher, "-n", str(ranks), *self.always, *how, self.program, *arguments]

    def environment_for_run(self):
        return {**os.environ, **self.environment}


def all_libraries(prefix, cores):
    """Tutti, installed or built at `prefix`, and its peers; `cores` are two CPU numbers (or one)."""
    cpus = ",".join(map(str, cores))
    open_mpi = dict(
        compiler="mpicc.openmpi", launcher="mpirun.openmpi", environment=OPEN_MPI_ENVIRONMENT,
        pinned=["--cpu-list", cpus, "--bind-to", "cpu-list:ordered"],
        shared=["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"])
    return [
        Library("tutti", os.path.join(prefix, "bin", "mpicc"), os.path.join(prefix, "bin", "mpirun"),
                pinned=["--bind-to", "core"], shared=["--bind-to", "none"]),
        Library("openmpi", **open_mpi),
        Library("openmpi+ucx", always=OPEN_MPI_UCX, **open_mpi),
        # MPICH has a setting for yielding, which Debian's build accepts and never acts on.
        Library("mpich", "mpicc.mpich", "mpirun.mpich", pinned=["-bind-to", f"user:{cpus}"],
                shared=["-bind-to", "none"], environment={"MPIR_CVAR_POLLS_BEFORE_YIELD": "1"}),
    ]
