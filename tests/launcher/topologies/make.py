#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make.py FOLDER: writes the topologies of machines as lstopo does, by the block diagrams that their makers publish.

amd.xml         16 cores of two threads, processors i and i+16, four to a cache (an EPYC with four dies)
hybrid.xml      4 cores of two threads and 8 of one, these in two groups with a second-level cache each (12th-generation Core)
grace.xml       72 cores of one thread, and memory of a GPU as a NUMA node without processors (GH200)
eight_gpus.xml  2 sockets of 4 NUMA nodes of 4 cores, and 8 GPUs, two near each odd NUMA node (DGX A100)
"""
import sys

gp = 0


def mask(cpus):
    value = sum(1 << cpu for cpu in cpus)
    words = []
    while value or not words:
        words.insert(0, f"0x{value & 0xffffffff:08x}")
        value >>= 32
    return ",".join(words)


class Node:
    def __init__(self, kind, index, children=(), cpus=None, nodes=(0,), extra="", inside=""):
        self.kind, self.index, self.children, self.nodes = kind, index, list(children), nodes
        self.cpus = cpus if cpus is not None else sorted(c for child in self.children for c in child.cpus)
        self.extra, self.inside = extra, inside

    def text(self, depth=1, memory=()):
        global gp
        gp += 1
        pad = "  " * depth
        sets = (f'cpuset="{mask(self.cpus)}" complete_cpuset="{mask(self.cpus)}" '
                f'nodeset="{mask(self.nodes)}" complete_nodeset="{mask(self.nodes)}"')
        if self.kind == "Machine":
            sets += f' allowed_cpuset="{mask(self.cpus)}" allowed_nodeset="{mask(self.nodes)}"'
        number = "" if self.index is None else f' os_index="{self.index}"'
        out = f'{pad}<object type="{self.kind}"{number} {sets} gp_index="{gp}"{self.extra}>\n'
        out += "".join(child.text(depth + 1) for child in self.children)
        if self.inside:
            out += self.inside(pad + "  ")
        return out + f"{pad}</object>\n"


def core(index, cpus, nodes=(0,)):
    return Node("Core", index, [Node("PU", cpu, cpus=[cpu], nodes=nodes) for cpu in cpus], nodes=nodes)


def cache(level, children, nodes=(0,)):
    return Node(f"L{level}Cache", None, children, nodes=nodes,
                extra=f' cache_size="1048576" depth="{level}" cache_linesize="64" cache_associativity="8" cache_type="0"')


def memory(index, cpus):
    return Node("NUMANode", index, cpus=cpus, nodes=(index,), extra=' local_memory="1073741824"')


def gpu(bus):
    def text(pad):
        global gp
        gp += 2
        return (f'{pad}<object type="Bridge" gp_index="{gp - 1}" bridge_type="0-1" depth="0" '
                f'bridge_pci="0000:[{bus}-{bus}]">\n'
                f'{pad}  <object type="PCIDev" gp_index="{gp}" pci_busid="0000:{bus}:00.0" '
                f'pci_type="0302 [10de:20b0] [10de:134f] a1" pci_link_speed="31.5"/>\n{pad}</object>\n')
    return text


def write(name, machine):
    global gp
    gp = 0
    with open(f"{sys.argv[1]}/{name}.xml", "w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n'
                   f'<topology version="2.0">\n{machine.text()}</topology>\n')


write("amd", Node("Machine", 0, [Node("Package", 0, [memory(0, range(32))] + [
    cache(3, [core(4 * c + i, [4 * c + i, 16 + 4 * c + i]) for i in range(4)]) for c in range(4)], cpus=range(32))]))
write("hybrid", Node("Machine", 0, [Node("Package", 0, [memory(0, range(16)), cache(3, [
    cache(2, [core(i, [2 * i, 2 * i + 1])]) for i in range(4)] + [
    cache(2, [core(4 + 4 * g + i, [8 + 4 * g + i]) for i in range(4)]) for g in range(2)])], cpus=range(16))]))
write("grace", Node("Machine", 0, [memory(1, [])] + [Node("Package", 0, [memory(0, range(72)), cache(3, [
    core(i, [i]) for i in range(72)])], cpus=range(72))], cpus=range(72), nodes=(0, 1)))

BUSES = {3: ("07", "0f"), 1: ("47", "4e"), 7: ("87", "90"), 5: ("b7", "bd")}


def numa(n):
    cpus = range(4 * n, 4 * n + 4)
    devices = [gpu(bus) for bus in BUSES.get(n, ())]
    return Node("Group", None, [memory(n, cpus)] + [core(cpu, [cpu], (n,)) for cpu in cpus], cpus=cpus, nodes=(n,),
                extra=' kind="0" subkind="0"', inside=lambda pad: "".join(device(pad) for device in devices))


write("eight_gpus", Node("Machine", 0, [
    Node("Package", s, [numa(4 * s + i) for i in range(4)], nodes=range(4 * s, 4 * s + 4)) for s in range(2)],
    nodes=range(8)))
