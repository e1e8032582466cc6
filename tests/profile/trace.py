# SPDX-License-Identifier: BSD-3-Clause
"""The trace of mpirun --profile=FILE.json, of ranks on two nodes and of ranks with threads.
"rules": by the rules of Perfetto's importer of JSON (src/trace_processor/importers there), which drops or misplaces without a
word what breaks them: numbers of processes and threads count from 1, and no two threads have the same; slices of a thread are
one in the other or apart; both ends of an arrow are there once, the beginning not behind the end, each in a slice.
"viewer": by the Trace Event Format's own importer, that of chrome://tracing, in a browser without a screen. Debian's Chromium
comes without it; Debian's source of Go has it, for `go tool trace`.
usage: trace.py MPIRUN PROFILED rules|viewer [FOLDER FOR PICTURES]"""
import functools
import glob
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

MPIRUN, PROFILED, HOW = sys.argv[1:4]
PICTURES = pathlib.Path(sys.argv[4]) if len(sys.argv) > 4 else None


def job(folder, what, ranks, nodes):
    """Its trace, with daemons of this machine for nodes."""
    trace, shell = folder / f"{what}.json", folder / "shell"
    shell.write_text('#!/bin/sh\nshift\nexec sh -c "$*"\n')
    shell.chmod(0o755)
    hosts = ",".join(f"{'ab'[i]}.invalid:{ranks // nodes}" for i in range(nodes))
    options = ["--host", hosts, "--set", f"launch.rsh={shell}"] if nodes > 1 else []
    done = subprocess.run([MPIRUN, f"--profile={trace}", *options, "-n", str(ranks), PROFILED, what], capture_output=True,
                          text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return trace.read_text()


def named(events, what):
    return {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == what}


def ns(microseconds):
    """Exactly: the file has three decimals."""
    return round(microseconds * 1000)


def by_thread(events):
    slices = {}
    for event in events:
        if event["ph"] == "X":
            slices.setdefault((event["pid"], event["tid"]), []).append((ns(event["ts"]), ns(event["ts"]) + ns(event["dur"]), event))
    for each in slices.values():
        each.sort(key=lambda s: (s[0], -s[1]))
    return slices


def ends_of(events, slices):
    """Of each arrow the two slices that Perfetto binds it to: that at whose time it is; of an end without "bp" the next one."""
    arrows = {}
    for event in events:
        if event["ph"] not in "sf":
            continue
        at, of = ns(event["ts"]), slices[event["pid"], event["tid"]]
        if event["ph"] == "s" or event.get("bp") == "e":
            bound = [s for s in of if s[0] <= at < max(s[1], s[0] + 1)]
        else:
            bound = [s for s in of if s[0] >= at][:1]
        assert len(bound) == 1, f"an end of an arrow is in {len(bound)} slices: {event}"
        arrow = arrows.setdefault(event["id"], {})
        assert event["ph"] not in arrow, f"two ends of one arrow: {event}"
        arrow[event["ph"]] = (at, bound[0][2])
    for number, arrow in arrows.items():
        assert set(arrow) == {"s", "f"}, f"arrow {number} has one end"
        assert arrow["s"][0] <= arrow["f"][0], f"arrow {number} goes back in time: {arrow}"
    return {number: (arrow["s"][1], arrow["f"][1]) for number, arrow in arrows.items()}


def check_rules(trace, ranks, nodes, most_left_out):
    events, other = trace["traceEvents"], trace["otherData"]
    for event in events:
        assert event["ph"] in "MXsf" and event["pid"] > 0 and event["tid"] > 0 and event["name"], event
        assert event["ph"] == "M" or event["ts"] >= 0 and event.get("dur", 0) >= 0, event
    slices = by_thread(events)
    assert len({tid for _, tid in slices}) == len(slices), "threads of two processes have one number"
    processes = named(events, "process_name")
    assert sorted(processes.values()) == sorted(f"rank {r} (node {r * nodes // ranks})" for r in range(ranks)), processes
    assert {pid for pid, _ in processes} == {pid for pid, _ in slices}
    assert set(slices) == set(named(events, "thread_name"))
    for thread, each in slices.items():
        last = 0
        for begun, over, event in each:
            assert begun >= last, f"slices of thread {thread} overlap: {event}"
            last = over
    arrows = ends_of(events, slices)
    names = {pid: int(re.match(r"rank (\d+) ", name)[1]) for (pid, _), name in processes.items()}
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    for number, (sender, receiver) in arrows.items():
        assert names[receiver["pid"]] == starts[number]["args"]["to"] != names[sender["pid"]], (sender, receiver)
        assert re.match(r"MPI_(I?[Ss]end|Sendrecv)", sender["name"]), sender
    assert other["messages left out, for their calls are not here"] <= most_left_out, other
    assert other["nodes whose clocks are not known"] == 0
    assert (other["error of clocks, us"] > 0) == (nodes > 1), other
    return slices, arrows


def check_ring(trace):
    # On a busy machine a clock's error may be longer than calls are.
    slices, arrows = check_rules(trace, ranks=4, nodes=2, most_left_out=64)
    left_out = trace["otherData"]["messages left out, for their calls are not here"]
    assert len(slices) == 4 and len(arrows) == 4 * 80 - left_out, (len(arrows), left_out)
    # A message that came while its receiver worked goes to the call that waits for it.
    for sender, receiver in arrows.values():
        wanted = {"MPI_Sendrecv": "MPI_Sendrecv", "MPI_Isend": "MPI_Waitall"}[sender["name"]]
        assert receiver["name"] in (wanted, "MPI_Irecv" if wanted == "MPI_Waitall" else wanted,
                                    "MPI_Isend" if wanted == "MPI_Waitall" else wanted), (sender, receiver)
    assert all(e["args"]["region"] == 'around "the" ring' for each in slices.values() for *_, e in each
               if e["name"] == "MPI_Sendrecv")


def check_threads(trace):
    slices, arrows = check_rules(trace, ranks=2, nodes=1, most_left_out=0)
    assert len(slices) == 2 * 4, "the first thread and three others of each rank"
    of_receivers = [each for each in slices.values() if any(e["name"] == "MPI_Recv" for *_, e in each)]
    assert [sum(e["name"] == "MPI_Recv" for *_, e in each) for each in of_receivers] == [30, 30, 30]
    assert any(a[0] < b[0] < a[1] for first in of_receivers for second in of_receivers if first is not second
               for a in first for b in second), "threads are in MPI at the same time"
    assert len(arrows) == 90, len(arrows)


JOBS = (("ring", 4, 2, check_ring), ("threads", 2, 1, check_threads))


def rules():
    with tempfile.TemporaryDirectory() as name:
        for what, ranks, nodes, check in JOBS:
            check(json.loads(job(pathlib.Path(name), what, ranks, nodes)))
            print(f"{what}: right", flush=True)


# ---- in a browser

def viewer_folder():
    """Where the viewer is, and its page's polyfill."""
    for page in glob.glob("/usr/share/go-*/src/**/trace_viewer_full.html", recursive=True):
        if os.path.exists(os.path.join(os.path.dirname(page), "webcomponents.min.js")):
            return os.path.dirname(page)
    print("skipped: Debian's package golang-src, which has the viewer of chrome://tracing, is not installed")
    sys.exit(77)


PAGE = b"""<!doctype html><title>trace</title><link rel="icon" href="data:,"><script src="webcomponents.min.js"></script>
<link rel="import" href="trace_viewer_full.html"><style>html, body, #viewer { margin: 0; width: 100%; height: 100% }</style><body></body>"""


class Pages(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        if self.path != "/":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_):
        pass


# What the importer has made of the file, and then the viewer of that.
IMPORT = """
const model = new tr.Model(), options = new tr.importer.ImportOptions();
options.shiftWorldToZero = false;
options.pruneEmptyContainers = false;
new tr.importer.Import(model, options).importTraces([arguments[0]]);
const title = (slice) => slice ? [slice.title, slice.parentContainer.parent.pid, slice.parentContainer.tid, slice.start] : null;
const out = {
  warnings: model.importWarnings.map((warning) => `${warning.type}: ${warning.message}`),
  processes: Object.fromEntries(model.getAllProcesses().map((process) => [process.pid, process.name])),
  counters: model.getAllCounters().length,
  threads: model.getAllThreads().map((thread) => ({pid: thread.parent.pid, tid: thread.tid, name: thread.name,
    slices: thread.sliceGroup.slices.map((slice) => [slice.title, slice.start, slice.duration, slice.args.where])})),
  flows: model.flowEvents.map((flow) => ({id: flow.id, start: flow.start, duration: flow.duration, bytes: flow.args.bytes,
    from: title(flow.startSlice), to: title(flow.endSlice)})),
};
const container = document.createElement("track-view-container"), viewer = document.createElement("tr-ui-timeline-view");
container.id = "track_view_container";
viewer.id = "viewer";
viewer.track_view_container = container;
Polymer.dom(viewer).appendChild(container);
viewer.globalMode = true;
document.body.textContent = "";
Polymer.dom(document.body).appendChild(viewer);
viewer.model = model;
return out;
"""


def is_near(milliseconds, nanoseconds):
    return abs(milliseconds * 1e6 - nanoseconds) < 0.5


def check_import(text, seen):
    events = json.loads(text)["traceEvents"]
    slices = by_thread(events)
    assert seen["warnings"] == [], seen["warnings"]
    assert {int(pid): name for pid, name in seen["processes"].items()} == \
        {pid: name for (pid, _), name in named(events, "process_name").items()}
    assert seen["counters"] == len({(e["pid"], e["name"]) for e in events if e["ph"] == "C"})
    threads = {(thread["pid"], thread["tid"]): thread for thread in seen["threads"] if thread["slices"]}
    assert {key: thread["name"] for key, thread in threads.items()} == named(events, "thread_name")
    assert set(threads) == set(slices)
    for key, thread in threads.items():
        assert len(thread["slices"]) == len(slices[key]), key
        for (title, start, duration, where), (begun, over, event) in zip(sorted(thread["slices"], key=lambda s: s[1]), slices[key]):
            assert (title, where) == (event["name"], event["args"]["where"]) and is_near(start, begun) and \
                is_near(duration, over - begun), (title, start, duration, event)
    arrows = ends_of(events, slices)
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    assert len(seen["flows"]) == len(arrows) > 0 and {flow["id"] for flow in seen["flows"]} == set(arrows)
    for flow in seen["flows"]:
        for slice_of, bound in zip((flow["from"], flow["to"]), arrows[flow["id"]]):
            assert slice_of and slice_of[:3] == [bound["name"], bound["pid"], bound["tid"]] and \
                is_near(slice_of[3], ns(bound["ts"])), (flow, bound)
        begun, over = ns(starts[flow["id"]]["ts"]), ns(ends[flow["id"]]["ts"])
        assert is_near(flow["start"], begun) and is_near(flow["duration"], over - begun), flow
        assert flow["bytes"] == starts[flow["id"]]["args"]["bytes"] == 8
    print(f"{len(slices)} threads, {sum(map(len, slices.values()))} slices, {len(arrows)} arrows", flush=True)


def viewer():
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
        from selenium.webdriver.support.ui import WebDriverWait
    except ImportError:
        print("skipped: there is no python3-selenium")
        sys.exit(77)
    if not shutil.which("chromedriver"):
        print("skipped: there is no Chromium that can be driven (Debian: chromium-driver)")
        sys.exit(77)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Pages, directory=viewer_folder()))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,900",
                     *(["--no-sandbox"] if os.geteuid() == 0 else [])):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    try:
        with tempfile.TemporaryDirectory() as name:
            for what, ranks, nodes, _ in JOBS:
                text = job(pathlib.Path(name), what, ranks, nodes)
                driver.get(f"http://127.0.0.1:{server.server_port}/")
                WebDriverWait(driver, 60, 0.1).until(lambda _: driver.execute_script(
                    "return Boolean(window.tr && tr.importer && tr.importer.Import && tr.e && tr.e.importer.TraceEventImporter)"))
                check_import(text, driver.execute_script(IMPORT, text))
                said = [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
                assert said == [], said
                if PICTURES:
                    PICTURES.mkdir(exist_ok=True)
                    driver.save_screenshot(str(PICTURES / f"trace-{what}.png"))
                print(f"{what}: right", flush=True)
    finally:
        driver.quit()


{"rules": rules, "viewer": viewer}[HOW]()
