# SPDX-License-Identifier: BSD-3-Clause
"""What is measured: blocks of cells, with the project's own goals.

A cell is one measure at one size ("latency/8"); a block is what one start of the program measures.
Goals are ratios: the best peer's figure against Tutti's, turned so that more is better.
"""
import fnmatch

KIB, MIB = 1 << 10, 1 << 20
COLLECTIVES = ("barrier bcast reduce allreduce reduce_scatter reduce_scatter_block scan exscan gather "
               "gatherv scatter scatterv allgather allgatherv alltoall alltoallv alltoallw").split()
FRESH = ("bcast", "reduce", "allreduce", "reduce_scatter", "gather", "scatter", "allgather", "alltoall")
STARTED = ("iallreduce", "ibcast", "iallgather", "ialltoall")
AWAY = [f"{way}.{cell}" for way in ("asleep", "reading", "elsewhere")
        for cell in (f"send/{MIB}", f"iallreduce/{64 * KIB}", f"iallreduce/{MIB}")]
WINDOWS = ("put", "get", "accumulate", "get_accumulate")
WORDS = ("fetch_and_op", "compare_and_swap", "put_lock", "put_lock_all", "put_fence", "put_groups")
BEHIND_WINDOWS = [f"behind.{kind}.{name}" for kind in ("allocated", "created")
                  for name in ("put", "get", "accumulate", "put_lock")]
PARTS = ("parts.one_message", "parts.messages", "parts.partitions", "parts.range")
MOVES = ("write", "read", "write_all", "read_all")
GOAL_SHORT = {"barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall"}
GOAL_REDUCTIONS = {"reduce", "allreduce"}
GOAL_CROWDED = {"barrier", "allreduce/8", "allreduce/65536", "alltoall/1024"}


class Block:
    def __init__(self, name, title, ranks, cells, mode="cells", pinned=True, budget_ms=10,
                 on_request=False, nodes=0):
        self.name, self.title, self.ranks, self.cells = name, title, ranks, list(cells)
        self.mode, self.pinned, self.budget_ms = mode, pinned, budget_ms
        self.on_request = on_request  # only measured when its name is given
        self.nodes = nodes            # that the ranks are spread over; 0: this machine as it is

    def goal(self, cell):
        measure, _, size = cell.partition("/")
        size = int(size or 0)
        if measure == "startup":
            return 1.5
        if self.name == "p2p":
            if measure == "latency":
                return 1.4 if size <= KIB else None
            return 1.2 if measure in ("bandwidth", "rate") else None
        if self.name == "pair" and measure in GOAL_SHORT:
            if size <= KIB:
                return 2.0
            if size in (64 * KIB, MIB):
                return 1.5 if measure in GOAL_REDUCTIONS else 1.2
        if self.name.startswith(("neighbours", "inter")):
            return 1.2
        if self.name.startswith("files"):
            return 1.5 if "strided." in measure and "left" not in measure else 1.0
        if self.nodes and "." not in measure:
            return 1.0
        if self.name == "crowd" and (cell in GOAL_CROWDED or measure == "bcast"):
            return 2.0
        return None


def cells_of(measures, sizes):
    """Each measure at each size; a barrier has none."""
    cells = []
    for measure in measures:
        cells += [measure] if measure.endswith("barrier") else [f"{measure}/{size}" for size in sizes]
    return cells


def both_forms(names):
    return [form + name for name in names for form in ("", "i")]


def full_grid():
    sizes = [8, 64, KIB, 8 * KIB, 64 * KIB, MIB, 4 * MIB]
    started = ["ibarrier", *STARTED]
    return [
        Block("p2p", "2 ranks, a core each: messages", 2,
              cells_of(["latency"], [0, 8, 64, 256, KIB, 4 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB])
              + cells_of(["bandwidth"], [4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB])
              + cells_of(["reused.bandwidth"], [KIB << shift for shift in range(4, 11)])
              + cells_of(["reused.bidirectional"], [64 * KIB, 256 * KIB, MIB]) + ["rate/8"], budget_ms=12),
        Block("fresh", "2 ranks, a core each: data that are written just before each call and read after it", 2,
              cells_of(["fresh.latency", "fresh.exchange"], [8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 256 * KIB, MIB])
              + cells_of(["fresh." + name for name in FRESH], [8 * KIB, 64 * KIB, MIB]), budget_ms=12),
        Block("pair", "2 ranks, a core each: collectives", 2,
              cells_of(both_forms(COLLECTIVES), sizes) + cells_of(["bcast"], [16 * KIB, 256 * KIB, 512 * KIB]),
              budget_ms=16),
        Block("crowd", "8 ranks on 2 cores: collectives", 8,
              cells_of(both_forms(COLLECTIVES), [8, KIB, 64 * KIB, MIB])
              + cells_of(both_forms(["bcast", "allreduce"]), [4 * MIB]), pinned=False, budget_ms=16),
        Block("hidden", "2 ranks, a core each: share of the communication that vanishes behind computing", 2,
              cells_of(["hidden.exchange", *("hidden." + name for name in STARTED)], [64 * KIB, MIB])),
        Block("behind", "2 ranks, a core each: wait for a peer that computes for 100 ms (send: 200 ms)", 2,
              ["behind.send/%d" % MIB] + cells_of(["behind." + s for s in started], [8, 64 * KIB, MIB])),
        *[Block(f"behind{n}", f"{n} ranks on 2 cores: wait for others that compute for 100 ms (send: 200 ms)", n,
                ["behind.send/%d" % MIB] + cells_of(["behind." + s for s in started], [8, 64 * KIB, MIB]),
                pinned=False) for n in (4, 8)],
        Block("away", "2 ranks, a core each: wait for a peer that is asleep, in read(), or in MPI elsewhere", 2,
              AWAY),
        *groups([8, 64 * KIB]),
        Block("partitions", "2 ranks, a core each: one message, 16 messages, 16 partitions", 2,
              cells_of(PARTS, [KIB, 16 * KIB, 256 * KIB, 4 * MIB]), budget_ms=12),
        Block("windows", "2 ranks, a core each: operations on a window, and what completes them", 2,
              [cell for kind in ("allocated.", "created.") for cell in
               cells_of([kind + name for name in WINDOWS], [8, KIB, 64 * KIB, MIB])
               + cells_of([kind + name for name in WORDS], [8])], budget_ms=12),
        Block("behind_windows", "2 ranks, a core each: operations on a window whose rank computes for 200 ms", 2,
              cells_of(BEHIND_WINDOWS, [8])),
        *jobs(),
        *files(("shm", "disk"), [KIB, 16 * KIB, 256 * KIB, 4 * MIB], (4, 8), 64),
        *over_tcp([0, 8, KIB, 64 * KIB, MIB], [8 * KIB, 64 * KIB, MIB, 4 * MIB], [8, KIB, 64 * KIB, MIB]),
        *ends([2, 16, 64], [2, 32]),
    ]


def quick_grid():
    return [
        Block("p2p", "2 ranks, a core each: messages", 2,
              ["latency/0", "latency/8", f"latency/{KIB}", f"bandwidth/{64 * KIB}", f"bandwidth/{MIB}", "rate/8"],
              budget_ms=10),
        Block("fresh", "2 ranks, a core each: data that are written just before each call and read after it", 2,
              cells_of(["fresh.latency", "fresh.exchange", "fresh.alltoall"], [64 * KIB]), budget_ms=5),
        Block("pair", "2 ranks, a core each: collectives", 2,
              cells_of(["barrier", "ibarrier", "bcast", "reduce", "allreduce", "iallreduce", "allgather",
                        "alltoall"], [8, 64 * KIB]), budget_ms=5),
        Block("crowd", "8 ranks on 2 cores: collectives", 8,
              ["barrier", "bcast/8", "allreduce/8", f"alltoall/{KIB}"], pinned=False, budget_ms=5),
        Block("hidden", "2 ranks, a core each: share of the communication that vanishes behind computing", 2,
              [f"hidden.exchange/{MIB}"]),
        Block("behind", "2 ranks, a core each: wait for a peer that computes for 100 ms (send: 200 ms)", 2,
              [f"behind.send/{MIB}", f"behind.iallreduce/{MIB}"]),
        Block("away", "2 ranks, a core each: wait for a peer that is in MPI elsewhere", 2, [f"elsewhere.send/{MIB}"]),
        Block("partitions", "2 ranks, a core each: one message, 16 messages, 16 partitions", 2,
              cells_of(PARTS, [16 * KIB]), budget_ms=5),
        Block("windows", "2 ranks, a core each: operations on a window, and what completes them", 2,
              cells_of(["allocated.put", "allocated.accumulate", "allocated.put_lock", "allocated.put_lock_all", "allocated.put_fence",
                        "allocated.put_groups", "created.put"], [8]), budget_ms=5),
        Block("behind_windows", "2 ranks, a core each: operations on a window whose rank computes for 200 ms", 2,
              ["behind.created.put_lock/8"]),
        *files(("shm",), [KIB], (4,), 4),
        Block("processes", "a process that spawns 2 others, until they have parted", 1, ["spawn/2"], pinned=False,
              budget_ms=150),
        Block("sessions", "2 ranks: a session; and one with a communicator of all and a barrier", 2,
              ["session.init", "session.comm"], pinned=False, budget_ms=5),
        *over_tcp([8], [MIB], [8, 64 * KIB]),
        *ends([2, 16], [2]),
    ]


def groups(sizes):
    """Neighbours on a torus of two dimensions, and the two halves of the ranks."""
    measures = [("neighbours", "neighbours on a torus", ["neighbor_alltoall", "neighbor_allgather", "ineighbor_alltoall"]),
                ("inter", "collectives between two halves", ["inter.bcast", "inter.allreduce", "inter.alltoall"])]
    return [Block(f"{name}{n}", f"{n} ranks on 2 cores: {what}", n, cells_of(cells, sizes), pinned=False, budget_ms=10)
            for name, what, cells in measures for n in (4, 8)]


def jobs():
    """Processes that are spawned, that connect, and sessions: the whole round of each."""
    return [Block("processes", "a process that spawns 2 and 8 others, until they have parted", 1,
                  ["spawn/2", "spawn/8"], pinned=False, budget_ms=600),
            Block("connections", "2 ranks that connect over a port, and part", 2, ["connect"], pinned=False, budget_ms=300),
            Block("sessions", "2 ranks: a session; and one with a communicator of all and a barrier", 2,
                  ["session.init", "session.comm"], pinned=False, budget_ms=50)]


def files(places, sizes, ranks, openers):
    """One file of all ranks, 16 MiB of it each: in a row, and in pieces that lie between each other's."""
    cells = [f"{place}.{way}{move}/{size}" for place in places for way in ("", "strided.") for move in MOVES
             for size in sizes if not (way and size > MIB)]
    cells += [f"{place}.append/{KIB}" for place in places]
    cells += [f"{place}.{way}left/{32 * MIB}" for place in places for way in ("", "strided.")]
    return [Block(f"files{n}", f"{n} ranks on 2 cores: a file", n, cells, pinned=False, budget_ms=60) for n in ranks] + [
        Block("files_open", f"{openers} ranks on 2 cores: a file is opened and closed", openers,
              [f"{place}.open" for place in places], pinned=False, budget_ms=60)]


def over_tcp(latencies, bandwidths, vectors):
    """Two nodes of the test cluster (tests/cluster/nodes.sh), each with one core."""
    return [
        Block("nodes", "2 nodes over tcp, a rank and a core each", 2,
              cells_of(["latency"], latencies) + cells_of(["bandwidth"], bandwidths)
              + cells_of(["allreduce"], vectors), pinned=False, budget_ms=40, nodes=2),
        Block("nodes8", "2 nodes over tcp, 4 ranks and a core each", 8,
              ["barrier"] + cells_of(["bcast", "allreduce"], vectors), pinned=False, budget_ms=40, nodes=2),
        Block("behind_nodes", "2 nodes over tcp, a rank and a core each: wait for a peer that computes", 2,
              [f"behind.send/{MIB}"] + cells_of(["behind." + name for name in ("ibarrier", *STARTED)], vectors)
              + AWAY, pinned=False, nodes=2),
    ]


def ends(startup_ranks, memory_ranks):
    """The blocks whose every cell is a start of the program of its own."""
    two = [Block(f"startup{n}", f"mpirun -n {n} of a program that greets", n, [f"startup/{n}"],
                 "startup", pinned=False) for n in startup_ranks]
    faults = Block("fault", "failures on purpose, for the benchmark's own test", 2,
                   ["fault.error", "fault.abort", "fault.hang"], on_request=True)
    return [faults] + two + [Block(f"memory{n}", f"{n} ranks: memory of each (PSS)", n,
                        [f"memory.init/{n}", f"memory.talked/{n}"], "memory", pinned=False)
                  for n in memory_ranks]


def selected(grid, names):
    """The cells that the names mean: a block, a measure, a cell, or a pattern of these. Returns the
    blocks that are left, and the names that mean nothing."""
    if not names:
        return [block for block in grid if not block.on_request], []
    unknown = []
    chosen = {id(block): [] for block in grid}
    for name in names:
        found = False
        for block in grid:
            for cell in block.cells:
                labels = {block.name, block.mode, cell, cell.partition("/")[0], cell.partition(".")[0]}
                if any(fnmatch.fnmatchcase(label, name) for label in labels - {"cells"}):
                    chosen[id(block)].append(cell)
                    found = True
        if not found:
            unknown.append(name)
    for block in grid:
        block.cells = [cell for cell in block.cells if cell in chosen[id(block)]]
    return [block for block in grid if block.cells], unknown
