# SPDX-License-Identifier: BSD-3-Clause
"""The MPI libraries side by side: how each compiles a program and starts it.

Pinned means: rank i on the i-th of the two cores, by the launcher's own option. Shared means: any
number of ranks on these cores, unbound, with the library's own setting for waiting politely. Over
nodes means: as many ranks on each node of a test cluster, unbound, started by the library's own launcher
over ssh; one that shares its node's core with others waits politely there, too.

Peers may stand in the root of another distribution (in_root.sh), compiled and started there: newer ones than this
machine's packages have. They take no part over nodes, whose shells know nothing of that root.
"""
import glob
import os
import re
import shutil
import subprocess

# Open MPI refuses root without these.
OPEN_MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# The names that Open MPI's UCX layer accepts are InfiniBand's, unless it is told otherwise.
BED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster", "bed.sh")
IN_ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "in_root.sh")
OPEN_MPI_UCX = ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any"]


class Library:
    def __init__(self, name, compiler, launcher, always=(), pinned=(), shared=(), environment=None,
                 hosts="--host", over_nodes=()):
        self.name = name
        self.compiler = compiler
        self.launcher = launcher
        self.always, self.pinned, self.shared = list(always), list(pinned), list(shared)
        self.hosts, self.over_nodes = hosts, list(over_nodes)
        self.environment = environment or {}
        self.pinned_since = None  # (major version, options in place of those)
        self.root = None    # of another distribution, where it stands
        self.version = ""   # as MPI_Get_library_version says
        self.program = None  # the compiled benchmark

    def there(self, folder):
        """In front of a command: runs it where the library stands."""
        return [IN_ROOT, self.root, folder] if self.root else []

    def missing(self, folder):
        """What this library lacks where it stands, or None."""
        for tool in (self.compiler, self.launcher):
            if not self.root:
                if not shutil.which(tool):
                    return f"there is no {tool}"
                continue
            found = subprocess.run([*self.there(folder), "which", tool], capture_output=True, text=True)
            if found.returncode:
                return f"there is no {tool} in {self.root} {found.stderr.strip()}".rstrip()
        if self.pinned_since:
            told = subprocess.run([*self.there(folder), self.launcher, "--version"], capture_output=True, text=True)
            major = re.search(r"(\d+)\.", told.stdout)
            if major and int(major[1]) >= self.pinned_since[0]:
                self.pinned = self.pinned_since[1]
        return None

    def compile(self, sources, folder):
        """Compiles the benchmark; returns what went wrong, or None."""
        program = os.path.join(folder, "bench-" + os.path.basename(self.name).split("+")[0])
        if self.root:
            for each in [*sources, *glob.glob(os.path.join(os.path.dirname(sources[0]), "*.h"))]:
                shutil.copy(each, folder)
            sources = [os.path.join(folder, os.path.basename(each)) for each in sources]
        command = [*self.there(folder), self.compiler, "-std=gnu11", "-O2", "-w", "-o", program, *sources, "-pthread"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return "does not compile:\n" + done.stderr
        self.program = program
        return None

    def command(self, block, arguments):
        start = [*self.there(os.path.dirname(self.program)), self.launcher, "-n", str(block.ranks), *self.always]
        if not block.nodes:
            return [*start, *(self.pinned if block.pinned else self.shared), self.program, *arguments]
        each = block.ranks // block.nodes
        hosts = ",".join(f"node{i + 1}:{each}" for i in range(block.nodes))
        polite = self.shared if each > 1 else []
        return [*bed(self.cores, block.nodes, self.prefix, os.path.dirname(self.program)), *start, self.hosts,
                hosts, *polite, *self.over_nodes, self.program, *arguments]

    def environment_for_run(self):
        return {**os.environ, **self.environment}


def bed(cores, nodes, *folders):
    """In front of a command: runs it on the first of so many nodes."""
    return [BED, ",".join(map(str, cores)), str(nodes), *folders]


def without_nodes(prefix, cores, folder):
    """Why there can be no nodes here, or None."""
    done = subprocess.run([*bed(cores, 1, prefix, folder), "true"], capture_output=True, text=True)
    return None if done.returncode == 0 else (done.stdout + done.stderr).strip().removeprefix("skipped: ")


def all_libraries(prefix, cores, root=None):
    """Tutti, installed or built at `prefix`, and its peers, in `root` if that is given; `cores` are two CPU numbers (or
    one)."""
    cpus = ",".join(map(str, cores))
    open_mpi = dict(
        compiler="mpicc.openmpi", launcher="mpirun.openmpi", environment=OPEN_MPI_ENVIRONMENT,
        pinned=["--cpu-list", cpus, "--bind-to", "cpu-list:ordered"],
        shared=["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"])
    known = [
        Library("tutti", os.path.join(prefix, "bin", "mpicc"), os.path.join(prefix, "bin", "mpirun"),
                pinned=["--bind-to", "core"], shared=["--bind-to", "none"]),
        Library("openmpi", **open_mpi),
        Library("openmpi+ucx", always=OPEN_MPI_UCX, over_nodes=["-x", "UCX_TLS=tcp,sm,self"], **open_mpi),
        # MPICH has a setting for yielding, which Debian's build accepts and never acts on.
        Library("mpich", "mpicc.mpich", "mpirun.mpich", pinned=["-bind-to", f"user:{cpus}"],
                shared=["-bind-to", "none"], environment={"MPIR_CVAR_POLLS_BEFORE_YIELD": "1"},
                hosts="-hosts", over_nodes=["-launcher", "ssh"]),
    ]
    for library in known[1:3]:
        library.pinned_since = (5, ["--map-by", f"pe-list={cpus}:ordered"])
    for library in known:
        library.prefix, library.cores = prefix, cores
        library.root = root if library is not known[0] else None
    return known
