# SPDX-License-Identifier: BSD-3-Clause
"""That run_pages.py sees what it is for: pages that are right pass, and each with one fault does not.
usage: harness_test.py PREFIX"""
import concurrent.futures
import pathlib
import sys
import tempfile

import pictures
import run_pages

TICKS = "```"


def page(language, text, *marks):
    return "".join(f"<!-- test: {mark} -->\n" for mark in marks) + f"{TICKS}{language}\n{text}\n{TICKS}\n"


def console(text, *marks):
    return page("console", text, *marks)


LONG = " ".join(["word"] * 40)
# page.svg, which lies beside each of the pages.
PICTURE = pictures.draw(["$ echo 'one  <two>' 3", "one  <two> 3", "$ echo word …", "  " + LONG], ["<two>", "word word"])


def with_picture(old="", new="", name="page.svg", marked="<two> | word word", shown="![a picture of what is printed](page.svg)"):
    """A page that shows this picture, but with `new` for `old`. It is held against a block that is not run, too."""
    text = f"$ echo 'one  <two>' 3\none  <two> …\n$ echo word …\n  {LONG}"
    return shown + "\n\n" + console(text.replace(old, new) if old else text, f"picture {name}: {marked}",
                                    "not run: as the test docs.harness says")


RIGHT = {
    "commands": console("$ echo one\none\n$ cd /; pwd\n/\n$ false\n$ echo $?\n1\n$ pwd\n/"),
    "continued": console("$ echo one \\\n  two\none two\n$ cat <<X\n> three\n> X\nthree"),
    "wildcards": console("$ printf 'a 12 b\\nc\\nd\\ne\\n'\na … b\n…\ne\n$ echo last\nlast\n…"),
    "times and processes": console("$ echo after 4.25 s process 12 of 0123456789ab\nafter 3 ms process 4711 of ba9876543210"),
    "places": console("$ echo $HOME; hostname; command -v mpirun\n/home/you\nnode1\n/opt/tutti/bin/mpirun"),
    "any order": console("$ printf '1\\n2\\n3\\n'\n3\n1\n2", "any order"),
    "part": console("$ seq 5\n2\n3", "part"),
    "soon": console("$ echo x >>f; wc -l <f\n3", "soon"),
    "later": console("$ (sleep 0.5; echo late) &\nlate", "later"),
    "behind": console("$ sh -c 'echo here; sleep 99'\nhere", "behind") + console("$ jobs | grep -c sleep\n1"),
    "keys": console("$ sh -c \"trap 'echo q' QUIT; while sleep 0.1; do :; done\"\n^\\q\n^C"),
    "other nodes": console("$ ssh -x node2 'echo $HOME'\n/home/you\n$ mpirun --host node3:2 echo x\nx\nx", "other nodes"),
    "file": page("text a/b.txt", "in it") + console("$ cat a/b.txt\nin it"),
    "change": page("text f", "1\n2\n3") + page("diff f", " 1\n-2\n+two") + console("$ cat f\n1\ntwo\n3"),
    "script": page("sh", "mkdir x\ncd x") + console("$ pwd\n/home/you/x"),
    "before": console("$ cat made\nx", "before: echo x >made"),
    "not run": console("$ nothing_of_this_name", "not run: as the test docs.harness\n   says"),
    "missing": console("$ nothing_of_this_name", "needs nothing_of_this_name"),
    "cluster": console("$ nothing_of_this_name", "cluster slurm"),
    "asked": page("sh", "read -p 'Enter a name: ' name </dev/tty && [ -z \"$name\" ]\nread -p 'password: ' it && [ $it = secret ]\n"
                  "read -p 'Sure (yes/no)? ' it && [ $it = yes ]", "asked"),
    "beside the tests": console("$ ls $__tests | grep -x run_pages.py\nrun_pages.py"),
    "long": console("$ false && nothing\nx", "long"),
    "picture": with_picture(),
}
WRONG = {
    "other words": console("$ echo one\ntwo"),
    "more is printed": console("$ seq 2\n1"),
    "less is printed": console("$ seq 2\n1\n2\n3"),
    "other order": console("$ seq 2\n2\n1"),
    "any order, more is printed": console("$ seq 3\n1\n2", "any order"),
    "part, in another place": console("$ seq 5\n2\n4", "part"),
    "part, in a line": console("$ echo 12\n1", "part"),
    "no such lines": page("text f", "1\n2") + page("diff f", " 2\n-1"),
    "lines that are there twice": page("text f", "1\n1") + page("diff f", "-1"),
    "no such block": console("$ true", "not run: as in README.md, which the test docs.front_page runs"),
    "no test is named": console("$ true", "not run: it is hard"),
    "no such cluster": console("$ true", "cluster of clouds"),
    "wrong answer": page("sh", "read -p 'Which? ' it </dev/tty & wait; read -p 'password: ' it && [ $it = other ]", "asked"),
    "script that fails": page("sh", "false\ntrue"),
    "no such file": console("$ cat made", "before: echo x >made; false"),
    "does not end": console("$ sleep 100", "timeout 0.5"),
    "no language": page("", "$ echo one"),
    "no such mark": console("$ true", "eny order"),
    "mark without a block": "<!-- test: long -->\ntext\n",
    "no end": TICKS + "console\n$ true\n",
    "output without a command": console("one"),
    "picture that is not shown": with_picture(shown=""),
    "picture without a text": with_picture(shown="![](page.svg)"),
    "picture that is not there": with_picture(name="other.svg", shown="![what is printed](other.svg)"),
    "picture of other words": with_picture("<two> …", "two …"),
    "picture of another command": with_picture("' 3", "' 4"),
    "picture of fewer commands": with_picture(f"\n$ echo word …\n  {LONG}"),
    "picture with other marks": with_picture(marked="one"),
    "picture without what is marked": with_picture(marked="four"),
}


def judge(kind, name, text):
    """A sentence, where a page does not come out as it shall."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "page.md"
        path.write_text(text)
        path.with_name("page.svg").write_text(PICTURE)
        try:
            page = run_pages.Page(path, pathlib.Path(sys.argv[1]).resolve(), False, False)
            page.run()
            faults = page.faults
        except run_pages.Wrong as wrong:
            faults = [str(wrong)]
        return f"the {kind} page '{name}':\n" + "\n".join(faults) if bool(faults) == (kind == "right") else ""


def main():
    pages = [(kind, name, text) for kind, pages in (("right", RIGHT), ("wrong", WRONG)) for name, text in pages.items()]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = [fault for fault in pool.map(lambda page: judge(*page), pages) if fault]
    print("\n".join(found) or f"{len(RIGHT)} right pages pass, and {len(WRONG)} wrong ones do not")
    return bool(found)


sys.exit(main())
