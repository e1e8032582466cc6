# SPDX-License-Identifier: BSD-3-Clause
"""Runs one_sided_program's cases on three ranks. Each wrong one ends with one error that says what its line here
does, the right ones are silent at each level and under stress.
usage: one_sided.py MPIRUN PROGRAM SOURCE,… wrong|right [SETTING=VALUE…]"""
import re
import subprocess
import sys

from cases import Source, errors, judge_all, said

# What stands in the sentence of those that --check=strict tells of, and the lines that are named. LINE(name) stands for
# the place in the source.
STRICT = [
    ("put_put", "rank 0 puts and rank 1 puts bytes 0 to 3 of the memory of rank 2 in one epoch",
     ["rank 0 puts by MPI_Put at LINE(put)", "rank 1 puts by MPI_Put at LINE(put)"]),
    ("put_put_overlapping", "bytes 12 to 15 of the memory of rank 2", []),
    ("put_get", "rank 0 puts and rank 1 gets bytes 0 to 3", ["rank 1 gets by MPI_Get at LINE(get)"]),
    ("put_add", "rank 0 puts and rank 1 accumulates with MPI_SUM bytes 0 to 3", ["rank 1 accumulates .*LINE(add)"]),
    ("get_add", "rank 0 gets and rank 1 accumulates with MPI_SUM bytes 0 to 3", []),
    ("put_fetch", "rank 0 puts and rank 1 fetches and accumulates with MPI_SUM", ["LINE(fetch)"]),
    ("put_no_op", "rank 0 puts and rank 1 fetches and accumulates with MPI_NO_OP", []),
    ("get_compare", "rank 0 gets and rank 1 compares and swaps bytes 20 to 23", ["MPI_Compare_and_swap at LINE(compare)"]),
    ("types", "accumulates of different datatypes are not atomic", ["LINE(float)", "LINE(add)"]),
    ("operations", "rank 0 accumulates with MPI_SUM and rank 1 accumulates with MPI_MAX bytes 0 to 15", []),
    ("derived", "rank 0 puts and rank 1 puts bytes 24 to 27", ["LINE(derived)", "LINE(put)"]),
    ("self_and_other", "rank 0 puts and rank 2 puts bytes 0 to 3 of the memory of rank 2", []),
    ("later_epoch", "rank 0 puts and rank 1 puts bytes 28 to 31", []),
    ("one_put_put", "MPI_Put: rank 0 puts and then puts bytes 0 to 3 of the memory of rank 2", ["rank 0 puts by MPI_Put at LINE(put)"]),
    ("one_put_get", "MPI_Get: rank 0 puts and then gets bytes 12 to 15", []),
    ("one_get_put", "MPI_Put: rank 0 gets and then puts bytes 0 to 3", []),
    ("one_put_add", "MPI_Accumulate: rank 0 puts and then accumulates with MPI_SUM", []),
    ("one_types", "accumulates of different datatypes", []),
    ("one_posted", "rank 0 puts and then puts", []),
    ("one_locked", "rank 0 puts and then puts bytes 0 to 3 of the memory of rank 2 before either", []),
    ("one_flush_local", "rank 0 puts and then puts", []),
    ("one_waited", "rank 0 puts and then puts", ["MPI_Rput at LINE(rput)"]),
    ("one_dynamic", "puts and then puts 4 bytes at address 0x", ["LINE(dynamic)"]),
    ("posted_put_put", "MPI_Win_wait: rank 0 puts and rank 1 puts bytes 0 to 3", ["LINE(put)"]),
    ("posted_put_get", "MPI_Win_wait: rank 0 puts and rank 1 gets bytes 0 to 3", []),
    ("locked_put_put", "MPI_Win_unlock_all: rank 0 puts and rank 1 puts bytes 0 to 3 .* before either", ["LINE(put)"]),
    ("locked_put_add", "rank 0 puts and rank 1 accumulates with MPI_SUM", []),
    ("locked_get_of_what_is_put", "MPI_Win_unlock_all: rank 0 puts and rank 1 gets", []),
    ("receives_there", "rank 0 puts bytes 0 to 3 .* into which rank 2 receives|the receive buffer shares byte 0 ",
     ["MPI_Sendrecv.*LINE(own_use)", "rank 0 puts by MPI_Put at LINE(put)"]),
    ("receives_there_at_once", "rank 0 puts bytes 0 to 3 .* into which rank 2 receives", ["MPI_Irecv at LINE(own_irecv)"]),
    ("gets_what_is_received", "rank 0 gets bytes 0 to 15 .* into which rank 2 receives|the receive buffer shares byte 4 .* what rank 0 gets",
     ["MPI_Get.*LINE(own_get)", "rank 0 gets by MPI_Get at LINE(get)"]),
    ("gets_what_is_received_at_once", "rank 0 gets bytes 8 to 11 .* into which rank 2 receives", ["MPI_Irecv at LINE(own_irecv_of_get)"]),
    ("parts_of_elements", "accumulates are atomic element by element, and these share parts of elements", ["LINE(askew)"]),
    ("sends_from_there", "MPI_Send: the send buffer shares bytes 0 to 3 .* with what rank 0 puts", ["LINE(own_send)", "LINE(put)"]),
    ("sends_before_what_is_put", "rank 0 puts bytes 0 to 3 .* from which rank 2 sends as well|the send buffer shares bytes 0 to 3 .* with what rank 0 puts",
     ["MPI_Send.*LINE(own_send_unordered)", "rank 0 puts by MPI_Put at LINE(put)"]),
    ("fence_no_put", "rank 0 puts bytes 0 to 3 of the memory of rank 2, of which rank 2 has said by MPI_MODE_NOPUT", ["LINE(put)"]),
    ("post_no_put", "MPI_Win_(wait|complete): rank 0 accumulates with MPI_SUM .* MPI_MODE_NOPUT", ["LINE(add)"]),
    ("no_precede", "rank 1 of the window gives MPI_MODE_NOPRECEDE, and rank 0 does not", []),
    ("no_succeed", "rank 0 of the window gives MPI_MODE_NOSUCCEED, and rank 1 does not", []),
    ("entries_overlap", "MPI_Put: entries of target_datatype overlap", []),
    ("same_op", "rank 0 fetches and accumulates with MPI_SUM and rank 1 fetches and accumulates with MPI_NO_OP bytes 0 to 3", []),
    ("no_locks", "MPI_Win_lock: the info object of the window says by no_locks", []),
    ("no_locks_all", "MPI_Win_lock_all: the info object of the window says by no_locks", []),
    ("same_size", "rank 0 gives the hint same_size as true, but its size is 4 and that of rank 1 is 8", []),
    ("same_disp_unit", "rank 2 gives the hint same_disp_unit as true, but its disp_unit is 1 and that of rank 1 is 4", []),
    ("lock_unchecked", "rank 1 has locked rank 2 of the window by MPI_MODE_NOCHECK, while rank 0 holds it", ["LINE(put)"]),
]
# And of those that are always told.
ALWAYS = [
    ("post_locked", "MPI_Win_post: rank [012] holds a lock on this rank's memory", []),
    ("lock_exposed", "lock: rank 0 of the window has exposed its memory by MPI_Win_post", ["LINE(lock_exposed)"]),
    ("start_unchecked", "MPI_Win_start: MPI_MODE_NOCHECK is given, but not by the MPI_Win_post of rank", []),
]


class Runner:
    def __init__(self, mpirun, program, source, settings):
        self.mpirun, self.program, self.settings = mpirun, program, settings
        self.source = Source(source)

    def run(self, case, *options):
        command = [self.mpirun, "-n", "3", *options, *(f"--set={s}" for s in self.settings), self.program, case]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100)
        if re.search("ThreadSanitizer|AddressSanitizer|runtime error:", done.stderr):
            sys.exit(f"{case}: a sanitizer's report\n{done.stderr}")
        return done.returncode, done.stdout, done.stderr

    def wrong(self, case, level, sentence, lines):
        code, _, err = self.run(case, f"--check={level}")
        if code in (0, 86, 124) or len(errors(err)) != 1 or not re.search(sentence, errors(err)[0]):
            return f"ended with {code} and {len(errors(err))} errors", err
        return self.source.missing(err, lines), err

    def silent(self, case, *options):
        code, out, err = self.run(case, *options)
        return (None if code == 0 and not said(err) and "through" in out else f"ended with {code} under {options}"), err


def main(mpirun, program, source, which, *settings):
    runner = Runner(mpirun, program, source, settings)
    if which == "wrong":
        runs = [(c, lambda c=c, s=s, l=l: runner.wrong(c, "strict", s, l)) for c, s, l in STRICT + ALWAYS]
        runs += [(c, lambda c=c, s=s, l=l: runner.wrong(c, "basic", s, l)) for c, s, l in ALWAYS]
    else:
        options = [["--check=strict"], ["--check=basic"], *(["--check=strict", f"--stress={s}"] for s in
                   ("sync", "loose", "random:1", "random:2"))]
        runs = [(f"right {' '.join(o)}", lambda o=o: runner.silent("right", *o)) for o in options]
    return judge_all(runs)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
