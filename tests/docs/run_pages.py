# SPDX-License-Identifier: BSD-3-Clause
r"""Runs the commands that a page shows, in their order, and compares what is printed with the page.
usage: run_pages.py [--long] [--update] [--list] [--cluster=WORD] [--home=FOLDER] PREFIX PAGE...
PREFIX is an installation or a build tree (its bin comes first in PATH). A page is a Markdown file, or a manual page, of which
the section EXAMPLES is read. --long (or TUTTI_LONG=1) runs also what takes long, --list runs nothing and says what each page
has, and --update writes what was printed into the Markdown page wherever that differs, and into pictures that are not there or
show something else: read the change, and look at the picture, before you believe it.
--cluster runs the blocks that are marked 'cluster WORD' and no others; a test of tests/cluster does so on nodes of its own.
--home is the page's folder, where it is another one than a new folder in $TMPDIR.

A page has a folder of its own, which is also its HOME, and one shell (bash) from its first block to its last: what cd, export
and variables do lasts, and $? is that of the command before.

    ```console        lines that begin with '$ ' are commands, and below each stands what it prints, on both streams together.
                      A line that ends in a backslash goes on in the next one, and lines that begin with '> ' belong to the
                      command above them. A command may fail; `$ echo $?` shows how.
    ```sh             commands of which the output does not matter. All of them must succeed.
    ```c hello.c      a file of that name, written before what follows is run; likewise with every other language.
    ```diff hello.c   a change of that file, made before what follows is run: its lines begin with a blank, '-' or '+'.
    ```text, ```c …   without a name: only shown. It may hold no line that begins with '$ '.

An output with lines that begin with ^\ or ^C is that of a command at which somebody presses Ctrl-\ or Ctrl-C: the test sends
SIGQUIT or SIGINT after a second, and the next one a second later; where something else is printed, again after more of them.

In an output that a page shows, `…` within a line stands for any text, and alone in a line for any number of lines, also none.
Alike on the page and in what is printed count: times such as 8.9 s, names of jobs (twelve hexadecimal digits), numbers of
processes ('process 4711', 'pid 4711', 'gdb -p 4711', 'kill -CONT 4711', '[1] 4711'), addresses such as 0x7f3a, and in which
call of the system somebody is asleep, which some kernels keep to themselves. The page says node1 where this machine's name
stands, /home/you for the page's folder, and /opt/tutti for PREFIX. Blanks at the ends of lines do not count.

A comment directly above a block says what else is to be known of it; words are divided by commas:

    <!-- test: any order -->       the lines come in any order (ranks print when they like)
    <!-- test: part -->            what is shown stands in one piece in what is printed, with more before or behind it
    <!-- test: soon -->            the commands are repeated until they print this, for 20 s at most
    <!-- test: later -->           what is printed comes some time after the command, as from a job behind it
    <!-- test: behind -->          a command that does not end, as the reader lets it run in a terminal of its own: the last
                                   one goes on behind what follows; what the page shows below it comes at some time
    <!-- test: own job -->         'tutti why' is told which job, since beside the page's there may be others of this user
    <!-- test: other nodes -->     ssh reaches node2 to node9, which all are this machine, with the page's folder as home
    <!-- test: cluster slurm -->   needs a cluster: the test cluster.pages_slurm runs it, and not the test of the page
    <!-- test: asked -->           whoever types this is asked something, and answers by Enter, by 'yes', or by the password 'secret'
    <!-- test: podman -->          podman has an image 'tutti', with the machine's programs and Tutti inside; skipped where it runs none
    <!-- test: timeout 120 -->     a command may take so many seconds (60 otherwise)
    <!-- test: long -->            takes more than a second or two: run only with --long
    <!-- test: needs gfortran -->  skipped where there is no such program
    <!-- test: not run: REASON --> skipped always; the reason is told at the end, and names the test that runs it. Keep these few.
    <!-- test: not run: as in README.md, … --> likewise, and the same block must stand in that file
    <!-- test: picture FILE.svg: WORDS | … -->
                                   the page shows a picture of what the commands print, with an alternative text, above the
                                   block. All that stands in it must fit the block, also where the block is not run. These words,
                                   in which … stands for any text, are marked in it (pictures.py). --update draws it
    <!-- test: before: COMMAND --> run first, in the same shell, unseen by the reader. It must succeed. $__tests is this folder.

Some of these may stand above each other. What is skipped is counted and listed at the end of every run."""
import dataclasses
import difflib
import functools
import os
import pathlib
import re
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import pictures

TESTS = pathlib.Path(__file__).resolve().parent
MARK = re.compile(r"^<!-- test: (.*?) -->$", re.DOTALL)
ALIKE = [
    (re.compile(r"(?<![\w.])\d+(?:\.\d+)? ?(?:ns|us|µs|ms|s|min|seconds)\b"), "<time>"),
    (re.compile(r"\b(?=[0-9a-f]*[0-9])[0-9a-f]{12}\b"), "<job>"),
    (re.compile(r"\b(process|pid|gdb -p|kill -\w+) \d+\b"), r"\1 <number>"),
    (re.compile(r"(?<=\] )\d+$", re.MULTILINE), "<number>"),
    (re.compile(r"\b0x[0-9a-f]+\b"), "<address>"),
    (re.compile(r"\basleep in \w+(?: of [^ ;]+)?"), "asleep"),
]
# The tests test_pages_WORD of tests/cluster/page_tests.sh.
CLUSTERS = ("keys", "slurm", "root")
TEST_NAME = re.compile(r"\b(?:docs|packaging|cluster|man|io|profile|launcher)\.[\w-]+")
NOTICE = re.compile(r"^\[\d+\][-+ ]  (Running|Done|Exit|Terminated|Killed|Interrupt|Quit)\b")
SOON = 20
SECONDS = 60

# A shell that starts a job behind it lets that ignore the keys, and so would all that is started here.
for key in (signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(key) == signal.SIG_IGN:
        signal.signal(key, signal.SIG_DFL)


class Wrong(Exception):
    """The page itself is at fault."""


@dataclasses.dataclass
class Block:
    """What stands between two fences."""
    line: int
    language: str
    name: str
    text: list
    words: list = dataclasses.field(default_factory=list)
    before: list = dataclasses.field(default_factory=list)
    not_run: str = ""
    indent: str = ""
    picture: str = ""
    marked: list = dataclasses.field(default_factory=list)

    def has(self, word):
        return word in self.words

    def value(self, word):
        return [known.split(None, 1)[1] for known in self.words if known.startswith(word + " ")]


@dataclasses.dataclass
class Command:
    line: int          # the first one of what it prints
    text: str
    expected: list


def add_mark(block, mark, where):
    if mark.startswith("not run:"):
        block.not_run = " ".join(mark[8:].split())
        if not TEST_NAME.search(block.not_run):
            raise Wrong(f"{where}: no test is named that runs this block")
    elif mark.startswith("before:"):
        block.before.append(mark[7:].strip())
    elif mark.startswith("picture "):
        block.picture, _, marked = mark[8:].partition(":")
        block.marked = [" ".join(words.split()) for words in marked.split("|") if words.strip()]
    else:
        block.words += [word.strip() for word in mark.split(",")]
    for word in block.words:
        if word.split()[0] not in ("needs", "timeout", "cluster") and word not in (
                "any order", "part", "soon", "later", "behind", "own job", "other nodes", "long", "asked", "podman"):
            raise Wrong(f"{where}: '{word}' is no mark")
        if word.startswith("cluster ") and word.split()[1] not in CLUSTERS:
            raise Wrong(f"{where}: there is no test cluster.pages_{word.split()[1]}")


def blocks_of_markdown(path):
    """All fenced blocks, each with the marks above it."""
    lines = path.read_text().splitlines()
    found, marks, number = [], [], 0
    while number < len(lines):
        line = lines[number]
        where = f"{path}:{number + 1}"
        if line.startswith("<!-- test:"):
            start = number
            while not lines[number].endswith("-->"):
                number += 1
            marks.append(MARK.match("\n".join(lines[start:number + 1]))[1])
        elif fence := re.match(r"^( *)```(.*)$", line):
            words = fence[2].split()
            block = Block(number + 1, words[0] if words else "", words[1] if len(words) > 1 else "", [],
                          indent=fence[1])
            for mark in marks:
                add_mark(block, mark, where)
            marks = []
            number += 1
            while number < len(lines) and lines[number].strip() != "```":
                block.text.append(lines[number].removeprefix(fence[1]))
                number += 1
            if number == len(lines):
                raise Wrong(f"{where}: the block has no end")
            found.append(block)
        elif line.strip() and marks:
            raise Wrong(f"{where}: there is a mark, and no block below it")
        number += 1
    return found


def blocks_of_manual(path):
    """The .EX blocks of the section EXAMPLES; marks are comments of roff."""
    found, marks, block, is_inside = [], [], None, False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith(".SH"):
            is_inside = line.strip() == ".SH EXAMPLES"
        elif not is_inside:
            continue
        elif line.startswith('.\\" test: '):
            marks.append(line[10:])
        elif line == ".EX":
            block = Block(number, "console", "", [])
            for mark in marks:
                if name := re.match(r"file (\S+)$", mark):
                    block.language, block.name = "file", name[1]
                else:
                    add_mark(block, mark, f"{path}:{number}")
            marks = []
            found.append(block)
        elif line == ".EE":
            block = None
        elif block:
            for roff, plain in (("\\&", ""), ("\\-", "-"), ("\\(aq", "'"), ("\\(ti", "~"), ("\\(ha", "^"), ("\\(bu", "·"),
                                ("\\(dq", '"'), ("\\e", "\\")):
                line = line.replace(roff, plain)
            block.text.append(line)
    return found


def commands(block, where):
    """The commands of a console block and what each prints."""
    found, goes_on = [], False
    for number, line in enumerate(block.text, block.line + 1):
        if line.startswith("$ ") and not goes_on:
            found.append(Command(number + 1, line[2:], []))
        elif not found:
            raise Wrong(f"{where}: a console block begins with a command")
        elif goes_on or (line.startswith("> ") and not found[-1].expected):
            found[-1].text += "\n" + line.removeprefix("> ")
            found[-1].line = number + 1
        else:
            found[-1].expected.append(line)
            continue
        goes_on = line.endswith("\\")
    if not found:
        raise Wrong(f"{where}: an empty console block")
    return found


class Shell:
    """One bash; run() gives what has been printed since, and the exit code."""

    def __init__(self, folder, environment):
        self.process = subprocess.Popen(["bash", "--norc", "--noprofile"], cwd=folder, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        self.end = f"=== end of the command {os.urandom(6).hex()}"
        self.printed = b""
        # The jobs of ranks whose home is the page's folder.
        self.send("__job() { grep -lzsxF \"HOME=$HOME\" /proc/[0-9]*/environ | xargs -r grep -hzsao 'TUTTI_JOB=.*' | "
                  "tr '\\0' '\\n' | sed -n 's/TUTTI_JOB=//p' | sort -u; }")
        self.send(f"__tests={shlex.quote(str(TESTS))}")
        self.send(f"set -m; __said() {{ printf '\\n{self.end} %s\\n' \"$1\"; }}; __status=0")

    def send(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def read(self, seconds):
        if not select.select([self.process.stdout], [], [], max(0, seconds))[0]:
            return False
        more = os.read(self.process.stdout.fileno(), 1 << 16)
        self.printed += more
        return bool(more)

    def run(self, text, seconds, is_script=False):
        """What is printed until the command has ended, and its exit code, None if it does not end."""
        quoted = shlex.quote(text)
        if is_script:
            self.send(f"__status=0; trap '__status=$?' ERR; eval {quoted} </dev/null; trap - ERR; __said $__status")
        else:
            self.send(f"(exit $__status); eval {quoted} </dev/null; __status=$?; __said $__status")
        limit = time.monotonic() + seconds
        end = re.compile(rb"\n" + self.end.encode() + rb" (\d+)\n")
        while not (found := end.search(self.printed)):
            if not self.read(limit - time.monotonic()):
                return self.take(), None
        before, self.printed = self.printed[:found.start()], self.printed[found.end():]
        return self.text(before), int(found[1])

    def take(self):
        printed, self.printed = self.printed, b""
        return self.text(printed)

    @staticmethod
    def text(printed):
        """Without what a shell says of jobs behind it."""
        lines = printed.decode(errors="replace").replace("\r\n", "\n").split("\n")
        return "\n".join(line for line in lines if not NOTICE.match(line))

    def close(self):
        """Ends all that this shell has started: whatever is of its session."""
        session = self.process.pid
        for chosen in (signal.SIGTERM, signal.SIGKILL):
            for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
                try:
                    if os.getsid(pid) == session:
                        os.kill(pid, chosen)
                except OSError:
                    pass
            time.sleep(0.05 if chosen == signal.SIGTERM else 0)
        self.process.wait()


def alike(text):
    for pattern, word in ALIKE:
        text = pattern.sub(word, text)
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))


def pattern(line):
    return ".*".join(re.escape(part) for part in line.split("…"))


def same(expected, printed, block):
    """Whether this was printed, by the rules above."""
    wanted = alike("\n".join(expected)).split("\n")
    got = alike(printed)
    if block.has("any order"):
        left = [line for line in got.split("\n")]
        for line in sorted((line for line in wanted if line.strip() != "…"), key=lambda line: ("…" in line, -len(line))):
            fitting = [other for other in left if re.fullmatch(pattern(line), other)]
            if not fitting:
                return False
            left.remove(fitting[0])
        return not left or block.has("part") or any(line.strip() == "…" for line in wanted)
    whole = "".join(r"(?:.*\n)*" if line.strip() == "…" else pattern(line) + r"\n" for line in wanted)
    return bool(re.search(r"(?m:^)" + whole, got + "\n") if block.has("part") else re.fullmatch(whole, got + "\n"))


class Page:
    def __init__(self, path, prefix, is_long, update, cluster="", home=None):
        self.path, self.prefix, self.is_long, self.update = path, prefix, is_long, update
        self.cluster, self.given_home = cluster, home
        self.blocks = (blocks_of_markdown if path.suffix == ".md" else blocks_of_manual)(path)
        self.faults, self.skipped, self.changes, self.drawn = [], [], [], {}
        self.ran = 0
        for block in self.blocks:
            where = f"{self.path}:{block.line}"
            if block.language == "console":
                commands(block, where)
            elif block.language != "sh" and any(line.startswith("$ ") for line in block.text):
                raise Wrong(f"{where}: commands stand in blocks of console or sh")
            if copied := re.match(r"as in ([\w/.-]+)\b", block.not_run):
                self.hold_equal(block, where, TESTS.parents[1] / copied[1].rstrip("."))
            if block.picture and (fault := self.fault_of_picture(block)):
                self.drawn[block.picture] = []
                self.faults.append(f"{where}: {block.picture} {fault}")

    def fault_of_picture(self, block):
        """What is wrong with a block's picture: an end of a sentence that begins with its name."""
        path = self.path.parent / block.picture
        if not re.search(rf"^!\[[^\]]{{10,}}\]\({re.escape(block.picture)}\)$", self.path.read_text(), re.MULTILINE):
            return "is not shown by the page, with a text for those who do not see it"
        if not path.exists():
            return "is not there"
        lines = pictures.lines_of(path.read_text())
        shown = commands(dataclasses.replace(block, text=lines), path)
        wanted = commands(block, self.path)
        if [command.text for command in shown] != [command.text for command in wanted]:
            return "shows other commands"
        for command, other in zip(wanted, shown):
            if not same(command.expected, "\n".join(other.expected), block):
                return f"shows something else below $ {command.text}"
        try:
            is_new = pictures.draw(lines, block.marked) == path.read_text()
        except pictures.Missing as missing:
            return f"does not say '{missing}'"
        return "" if is_new else "is not as pictures.py draws it"

    @staticmethod
    def hold_equal(block, where, original):
        """A copy may be left out where its original is run."""
        text = "\n".join(block.text)
        holding = [other for other in blocks_of_markdown(original) if text in "\n".join(other.text)]
        if not holding:
            raise Wrong(f"{where}: {original.name} has another block")
        if holding[0].not_run.startswith("as in"):
            raise Wrong(f"{where}: the block in {original.name} is not run either")

    def why_not(self, block):
        cluster = block.value("cluster")
        if cluster and not self.cluster:
            return f"the test cluster.pages_{cluster[0]} runs it"
        missing = [name for name in block.value("needs") if not shutil.which(name, path=self.environment["PATH"])]
        if block.not_run:
            return block.not_run
        if missing:
            return f"{missing[0]} is not here"
        if block.has("long") and not self.is_long:
            return "takes long"
        return self.why_no_podman() if block.has("podman") else ""

    @functools.cache
    def why_no_podman(self):
        """Makes the image, the first time that it is asked."""
        if os.getuid() != 0 or not shutil.which("podman", path="/usr/local/bin:/usr/bin:/bin"):
            return "podman is not here, or only for others than root"
        made = subprocess.run([TESTS / "containers" / "make_image.sh"], env=self.environment, cwd=self.home, capture_output=True, text=True)
        return "" if made.returncode == 0 else f"podman runs no container here: {made.stderr.strip()}"

    def on_the_page(self, printed):
        for here, there in ((str(self.home), "/home/you"), (str(self.prefix), "/opt/tutti")):
            printed = printed.replace(here, there)
        return re.sub(rf"(?<![\w.-]){re.escape(socket.gethostname())}(?![\w-])", "node1", printed)

    def run(self):
        self.home = self.given_home or pathlib.Path(tempfile.mkdtemp(prefix="page."))
        kept = {name: value for name, value in os.environ.items() if name in ("LANG", "TMPDIR", "USER", "LOGNAME", "TERM")}
        self.environment = {**kept, "HOME": str(self.home), "LC_ALL": "C.UTF-8", "TERM": "dumb",
                            "PATH": f"{self.prefix}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
        if not self.cluster and any(block.has("other nodes") for block in self.blocks):
            self.environment["PATH"] = f"{TESTS}/nodes:{self.environment['PATH']}"
        if any(block.has("podman") for block in self.blocks):
            self.environment["PATH"] = f"{TESTS}/containers:{self.environment['PATH']}"
            self.environment["MACHINE_INSIDE"] = "1"
        self.shell = Shell(self.home, self.environment)
        try:
            for block in self.blocks:
                if not self.run_block(block):
                    break
        finally:
            self.shell.close()
            if not self.given_home:
                shutil.rmtree(self.home, ignore_errors=True)
        if self.update:
            self.write()

    def run_block(self, block):
        """False where the page cannot go on."""
        if block.name and block.language == "diff":
            if not self.change(block):
                self.faults.append(f"{self.path}:{block.line}: {block.name} has no such lines, or has them twice")
                return False
        elif block.name:
            (self.home / block.name).parent.mkdir(parents=True, exist_ok=True)
            (self.home / block.name).write_text("\n".join(block.text) + "\n")
        if block.language not in ("console", "sh"):
            return True
        if self.cluster and self.cluster not in block.value("cluster"):
            return True
        reason = self.why_not(block)
        if reason:
            self.skipped.append(f"{self.path}:{block.line}: {reason}")
            return True
        seconds = float((block.value("timeout") or [SECONDS])[0])
        for text in block.before:
            printed, code = self.shell.run(text, seconds, is_script=True)
            if code != 0:
                self.faults.append(f"{self.path}:{block.line}: what comes before it failed ({code}): {text}\n{printed}")
                return False
        if block.language == "sh":
            self.ran += 1
            text = "\n".join(block.text)
            if block.has("asked"):
                text = f"python3 $__tests/typist.py bash -ec {shlex.quote(text)}"
            printed, code = self.shell.run(text, seconds, is_script=True)
            if code != 0:
                how = "did not end" if code is None else f"exited with {code}"
                self.faults.append(f"{self.path}:{block.line}: a command {how}:\n{printed}")
            return code is not None
        for command in commands(block, self.path):
            self.ran += 1
            if not self.run_command(block, command, seconds):
                return False
        return True

    def change(self, block):
        path = self.home / block.name
        old, new = ("".join(line[1:] + "\n" for line in block.text if line[:1] != other) for other in "+-")
        text = path.read_text() if path.exists() else ""
        path.write_text(text.replace(old, new))
        return text.count(old) == 1

    def run_command(self, block, command, seconds):
        limit = time.monotonic() + SOON
        text, expected = command.text, command.expected
        is_behind = block.has("behind") and command.line == commands(block, self.path)[-1].line
        keys = [{"^\\": "QUIT", "^C": "INT"}[line[:2]] for line in expected if line[:2] in ("^\\", "^C")]
        if is_behind:
            text += " &" if expected else " >/dev/null 2>&1 &"
        elif keys:
            text += " &"
            for key in keys:
                text += f" sleep $__patience; kill -{key} $!;"
            text += " wait $!"
            expected = [line[2:] if line[:2] in ("^\\", "^C") else line for line in expected]
        if block.has("own job"):
            text = text.replace("tutti why", "tutti why $(__job)")
        patience = 1
        printed, code = self.shell.run(f"__patience={patience}; {text}" if keys else text, seconds)
        while code is not None and time.monotonic() < limit:
            if same(expected, self.on_the_page(printed), block):
                break
            if keys:  # on a machine that is busy a second is not much
                patience += 1
                printed, code = self.shell.run(f"__patience={patience}; {text}", seconds)
            elif block.has("soon"):
                time.sleep(0.2)
                printed, code = self.shell.run(text, seconds)
            elif block.has("later") or is_behind:
                if not self.shell.printed:
                    self.shell.read(limit - time.monotonic())
                printed += self.shell.take()
            else:
                break
        printed = self.on_the_page(printed)
        got = [line.rstrip() for line in printed.strip("\n").split("\n")] if printed.strip("\n") else []
        if block.picture in self.drawn:
            self.drawn[block.picture] += [f"$ {command.text}", *got]
        if code is None or not same(expected, printed, block):
            self.changes.append((command.line, len(command.expected), [block.indent + line for line in got]))
            difference = difflib.unified_diff(expected, got, "on the page", "printed", lineterm="", n=20)
            how = "" if code is not None else f" (it did not end within {seconds:g} s)"
            self.faults.append(f"{self.path}:{command.line - 1}: $ {command.text}{how}\n" + "\n".join(difference))
        return code is not None

    def write(self):
        lines = self.path.read_text().splitlines()
        for line, number, got in reversed(self.changes):
            lines[line - 1:line - 1 + number] = got
        self.path.write_text("\n".join(lines) + "\n")
        for block in self.blocks:
            if self.drawn.get(block.picture):
                (self.path.parent / block.picture).write_text(pictures.draw(self.drawn[block.picture], block.marked))


def main():
    arguments = sys.argv[1:]
    values = dict(word[2:].split("=", 1) for word in arguments if re.match("--(cluster|home)=", word))
    options = {word for word in arguments if word.startswith("--") and "=" not in word}
    names = [word for word in arguments if not word.startswith("--")]
    if options - {"--long", "--update", "--list"} or len(names) < 2 or values.get("cluster", "keys") not in CLUSTERS:
        print(__doc__, file=sys.stderr)
        return 2
    prefix = pathlib.Path(names[0]).resolve()
    if not (prefix / "bin" / "mpirun").exists():
        print(f"there is no {prefix}/bin/mpirun", file=sys.stderr)
        return 2
    is_long = "--long" in options or os.environ.get("TUTTI_LONG") == "1"
    is_bad = False
    for name in names[1:]:
        try:
            page = Page(pathlib.Path(name), prefix, is_long, "--update" in options, values.get("cluster", ""),
                        pathlib.Path(values["home"]) if "home" in values else None)
            if "--list" not in options:
                page.run()
        except Wrong as wrong:
            print(wrong)
            is_bad = True
            continue
        count = sum(len(commands(block, name)) if block.language == "console" else block.language == "sh"
                    for block in page.blocks)
        if "--list" in options:
            page.skipped = [f"{name}:{block.line}: {block.not_run}" for block in page.blocks if block.not_run]
            print(f"{name}: {count} commands, {len(page.skipped)} blocks never run", *page.skipped, sep="\n  ")
            continue
        print("\n\n".join(page.faults))
        print(f"{name}: {page.ran} of {count} commands run, {len(page.faults)} wrong, {len(page.skipped)} blocks skipped",
              *page.skipped, sep="\n  ")
        is_bad = is_bad or bool(page.faults) or bool(page.cluster and not page.ran)
    return int(is_bad)


if __name__ == "__main__":
    sys.exit(main())
