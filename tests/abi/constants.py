# SPDX-License-Identifier: BSD-3-Clause
"""Makes a program that checks value and type of every constant of lib/table/constants.tsv.
usage: constants.py LIB_FOLDER c|cpp OUTPUT

The values are compared as numbers of the table with what the compiler makes of mpi.h; the few that
are written out in abi_facts.h guard the table itself."""
import pathlib
import sys

sys.path.insert(0, sys.argv[1])
import model


def checks(constant, language):
    name, type_, value = constant.name, constant.type, constant.value
    if type_ == "macro":
        yield f"#ifndef {name}\n#error {name} is no macro\n#endif"
    is_number = value.lstrip("-")[0].isdigit()
    if type_ == "enum" or (type_ == "macro" and is_number):
        yield f'  EXPECT((long long)({name}) == {value}LL, "{name}");'
        yield f"  switch (zero) {{ case {name}: default: break; }}"
        if type_ == "enum" and not name.startswith(("MPI_T_CB_", "MPI_T_SOURCE_")):
            type_ = "int"
        else:
            return
    elif type_ == "macro":
        yield f'  EXPECT({name} == {value}, "{name}");'
        return
    else:
        yield f'  EXPECT((long long)(intptr_t)({name}) == {value}LL, "{name}");'
    if language == "c":
        yield f'  EXPECT(_Generic(({name}), {type_}: 1, default: 0), "type of {name}");'
    elif type_ == "int":
        yield f'  EXPECT((std::is_convertible<decltype({name}), int>::value), "type of {name}");'
    else:
        yield f'  EXPECT((std::is_same<decltype({name}), {type_}>::value), "type of {name}");'


def main(language, output):
    constants = model.constants()
    body = [line for constant in constants for line in checks(constant, language)]
    head = ["#include <mpi.h>", "#include <stddef.h>", "#include <stdio.h>"]
    if language == "cpp":
        head.append("#include <type_traits>")
    pathlib.Path(output).write_text("\n".join(head + [
        "static int bad = 0, done = 0;",
        '#define EXPECT(truth, what) (++done, (truth) ? (void)0 : (void)(++bad, printf("wrong: %s\\n", what)))',
        '#include "abi_facts.h"',
        "int main(void) {", "  volatile int zero = 0;", *body, "  abi_facts();",
        f'  printf("{len(constants)} constants, %d checks, %d wrong\\n", done, bad);',
        "  return bad != 0;", "}"]) + "\n")


main(*sys.argv[2:])
