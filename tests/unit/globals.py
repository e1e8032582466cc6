# SPDX-License-Identifier: BSD-3-Clause
"""Holds how many mutable variables the runtime's mpi/ has that no object owns: of namespaces, static members, static
and thread_local ones of functions, also where a constant pointer or a reference leads to what changes. Constants do
not count, nor do the sources' own tables. What lives as long as the process belongs into one named object that says
why; what is counted, to the instance that is counted (mpi/object/process.hpp); the rest, to current.hpp and its like.
usage: globals.py SOURCE_FOLDER, which lists them if there are too many, or with --list"""
import pathlib
import re
import sys

MOST = 50
# What begins at the left edge, as the formatter has it, and declares no variable.
NO_VARIABLE = re.compile(r"(?:namespace|using|class|struct|enum|union|template|typedef|static_assert|friend|extern|#|\}"
                         r"|\)|public|protected|private|TUTTI_\w+\()")
IN_A_FUNCTION = re.compile(r"(?:inline )?(?:static|thread_local|constinit)\b")
MACROS = re.compile(r"\b(?:alignas|TUTTI_\w+)\([^()]*\)|\[\[[^\]]*\]\]")


def without(text, pattern):
    """What is left when nothing matches any more: templates in templates."""
    while (shorter := re.sub(pattern, "", text)) != text:
        text = shorter
    return text


def is_mutable(line):
    """Of a line without comments and texts: whether it declares a variable that changes, or leads to one."""
    words = line.strip()
    if line[:1].strip():
        if NO_VARIABLE.match(words):
            return False
    elif not IN_A_FUNCTION.match(words):
        return False
    head = without(MACROS.sub("", re.split(r"[={;]", words, maxsplit=1)[0]), r"<[^<>]*>")
    head = re.sub(r"\(\*(\w+)\)\(.*\)?$", r" *\1", head)  # a pointer to a function
    if "(" in head:
        return False  # a function; objects are made of arguments in braces
    if len(head.split()) < 2 or re.search(r"\bconstexpr\b|\boperator\b", head):
        return False
    if "&" in head or "*" in head:
        pointee, pointer = re.split(r"[&*](?=[^&*]*$)", head)
        return not re.search(r"\bconst\b", pointee) or ("*" in head and not re.search(r"\bconst\b", pointer))
    return not re.search(r"\bconst\b", head)


def globals_of(path):
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', re.sub(r"//[^\n]*", "", path.read_text()))
    return [(number, line.strip()) for number, line in enumerate(text.split("\n"), 1) if is_mutable(line)]


RIGHT = (
    "int count = 0;", "inline std::atomic<int> count{0};", "  static thread_local int depth = 0;",
    "  static auto& only = *new Store;", "inline constinit thread_local Turn turn;", "  static Group empty{List(), 1};",
    "  static Request* const sent = []() {", "  static const auto* all = new std::vector<int>(find());",
    "inline Result<Ref<Comm>> (*join)(Comm& local, int leader) = nullptr;", "const char* name = nullptr;",
    "constinit std::atomic<bool> told[4] = {};", "alignas(64) uint64_t completions TUTTI_OWNERS = 0;")
WRONG = (
    "constexpr int kMost = 4;", "const Entry kTable[] = {", "  static const auto& all = *new std::vector<int>(find());",
    "  static const Handlers predefined;", "Store& store() {",
    "  static std::unique_ptr<Copy> of(const Payload& sent);",
    "int rank_of(int process) {", "  int depth = 0;", "constexpr const char* kName = nullptr;", "namespace tutti {",
    "  static Class* predefined(uintptr_t value);", "  static int& depth() {", "  static constexpr int kMost = 4;",
    "const char* const kName = nullptr;", "using Swap = std::function<void()>;")


def main():
    for line in RIGHT + WRONG:
        if is_mutable(line) != (line in RIGHT):
            print(f"wrong: this script misjudges '{line}'")
            return True
    root = pathlib.Path(sys.argv[1]).resolve()
    found = []
    for path in sorted((root / "runtime" / "mpi").rglob("*.[ch]pp")):
        found += [f"{path.relative_to(root)}:{number}: {line}" for number, line in globals_of(path)]
    if len(found) > MOST or "--list" in sys.argv:
        print("\n".join(found))
    print(f"{len(found)} mutable variables of mpi/ belong to no object, {MOST} may")
    return not 0 < len(found) <= MOST


sys.exit(main())
