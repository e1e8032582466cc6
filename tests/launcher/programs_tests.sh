# SPDX-License-Identifier: BSD-3-Clause
# Sourced by processes.sh. Programs that cannot be started, or must not be.

# machine_file NAME NUMBER: a program for the machine that ELF gives this number.
machine_file() {
  cp /bin/true "$1" && printf "\\x$(printf %02x $(($2 & 255)))\\x$(printf %02x $(($2 >> 8)))" |
    dd of="$1" bs=1 seek=18 conv=notrunc 2>/dev/null
}
test_programs_that_the_kernel_refuses() {
  machine_file ./a64 $([ "$(uname -m)" = aarch64 ] && echo 62 || echo 183)
  launch -n 2 ./a64
  expect_code 126
  said_once "cannot start rank"
  said "./a64 is built for "
  said ", and this machine is "
  printf '#!/no/such/sh\n' >script && chmod +x script
  launch -n 2 ./script
  expect_code 127
  said_once "names the interpreter /no/such/sh in its first line, and there is none"
  ! grep -q "No such file" err || fail "the script itself is said to be missing"
  printf '#!/bin/sh\r\necho x\r\n' >script
  launch -n 1 ./script
  expect_code 127
  said "has the line ends of DOS"
  echo 'echo x' >script
  launch -n 1 ./script
  expect_code 126
  said "is neither a program nor a script"
  sed "s|/lib64/ld-linux-x86-64|/lib64/no-linux-x86-64|" /bin/true >linker && chmod +x linker
  if ! cmp -s linker /bin/true; then
    launch -n 1 ./linker
    expect_code 127
    said "needs the dynamic linker /lib64/no-linux-x86-64.so.2, which this machine does not have"
  fi
  nothing_is_left
}
test_source_files_are_told_what_to_do_with() {
  echo 'int main() {}' >hello.c
  local name
  for name in hello.c ./hello.c; do
    launch -n 2 "$name"
    expect_code 126
    said_once "is a source file: compile it with 'mpicc -o hello hello.c', and start ./hello"
    ! grep -q chmod err || fail "a source file is to be made executable"
  done
  chmod +x hello.c  # as on file systems that make everything so
  launch -n 2 ./hello.c
  expect_code 126
  said_once "compile it with 'mpicc -o hello hello.c'"
  cp hello.c data && chmod -x data
  launch -n 1 ./data
  expect_code 126
  said "is not executable; 'chmod +x' makes it so"
}
test_programs_of_another_mpi_are_not_started() {
  echo 'int f(void) { return 0; }' >f.c
  echo 'int f(void); int main(void) { return f(); }' >main.c
  cc -shared -fPIC -Wl,-soname,libmpi.so.40 -o libf.so f.c && cc -o theirs main.c ./libf.so -Wl,-rpath,"$work" ||
    fail "no compiler"
  mv libf.so libmpi.so.40
  ./theirs || fail "the program does not run by itself"
  printf '#!/bin/sh\nexec ./theirs "$@"\n' >script && chmod +x script
  local program
  for program in ./theirs ./script "env A=1 ./theirs"; do
    launch -n 2 $program
    expect_code 126
    said_once "tutti: error"
    said "./theirs is built for Open MPI (it needs libmpi.so.40)"
    said "compile it with Tutti's mpicc"
  done
  mkdir below && cp theirs below/
  launch -n 2 bash -c 'cd below && ./theirs'
  expect_code 126
  said_once "./theirs is built for Open MPI (it needs libmpi.so.40)"
  launch -n 1 echo started : -n 1 ./theirs
  expect_code 126
  [ ! -s out ] || fail "the other program was started"
  launch --set launch.foreign_mpi=on -n 2 ./theirs
  expect_code 0
  # A translation has the other's name and needs the standard's library.
  cc -shared -fPIC -Wl,-soname,libmpi_abi.so.0 -o libmpi_abi.so.0 f.c
  cc -shared -fPIC -Wl,-soname,libmpi.so.40 -Wl,-rpath,"$work" -Wl,--no-as-needed -o libmpi.so.40 f.c ./libmpi_abi.so.0
  launch -n 2 ./theirs
  expect_code 0
  nothing_is_left
}
# A program that loads libraries of these names while it runs, and stays for a while.
loader_of() {
  cat >loads.c <<'END'
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i)
    if (!dlopen(argv[i], RTLD_NOW)) return 1;
  usleep(500000);
  return 0;
}
END
  echo 'int f(void) { return 0; }' >f.c
  cc -o loads loads.c -ldl || fail "no compiler"
  local name
  for name; do cc -shared -fPIC -o "$name" f.c; done
}
test_an_mpi_that_is_loaded_is_told_once() {
  loader_of libmpi.so.40.30.4 libmpi.so.12 libmpi_abi.so.1 libpmix.so.2 libopen-rte.so.40
  fake_nodes
  launch "${remote[@]}" -n 6 ./loads ./libmpi.so.40.30.4
  expect_code 0
  said_once "tutti: warning: loads has loaded libmpi.so.40.30.4 of Open MPI and has not met Tutti's mpirun"
  said_once "start it with the mpirun of that MPI"
  # Behind commands that nobody can look through, and with an environment of its own.
  launch -n 1 true : -n 1 env -i sh -c 'x=./loads; $x ./libmpi.so.12; true'
  expect_code 0
  said_once "loads has loaded libmpi.so.12 of MPICH, Intel MPI or MVAPICH"
  # Open MPI 4 has its own runtime beside the library of PMIx.
  launch -n 2 ./loads ./libpmix.so.2 ./libmpi.so.40.30.4 ./libopen-rte.so.40
  said_once "has loaded libmpi.so.40.30.4"
  nothing_is_left
}
# A translation; one that joins by PMIx; one that another launcher has started. Of one rank there is nothing to say.
test_an_mpi_that_is_loaded_rightly_is_not_told() {
  loader_of libmpi.so.40.30.4 libmpi.so.12 libmpi_abi.so.1 libpmix.so.2
  launch -n 1 ./loads ./libmpi.so.40.30.4 ./libmpi_abi.so.1 : -n 1 ./loads ./libpmix.so.2 ./libmpi.so.40.30.4 : \
    -n 1 sh -c 'PMI_RANK=0 PMI_SIZE=2 ./loads ./libmpi.so.12; true'
  expect_code 0
  ! grep -q "has loaded" err || fail "a program is told that joins, or has its launcher"
  launch -n 2 ./loads ./libpmix.so.2 ./libmpi.so.12
  ! grep -q "has loaded" err || fail "a client of PMIx is told before it could have called MPI_Init"
  launch -n 1 ./loads ./libmpi.so.40.30.4
  ! grep -q "has loaded" err || fail "one rank is told"
  launch --set launch.foreign_mpi=on -n 2 ./loads ./libmpi.so.40.30.4
  ! grep -q "has loaded" err || fail "a user is told who knows"
  nothing_is_left
}
test_programs_of_an_mpi_that_joins_by_pmix_are_started() {
  echo 'int f(void) { return 0; }' >f.c
  echo 'int f(void); int main(void) { return f(); }' >main.c
  cc -shared -fPIC -Wl,-soname,libpmix.so.2 -o libpmix.so.2 f.c
  cc -shared -fPIC -Wl,-soname,libmpi.so.40 -Wl,-rpath,"$work" -Wl,--no-as-needed -o libmpi.so.40 f.c ./libpmix.so.2
  cc -o theirs main.c ./libmpi.so.40 -Wl,-rpath,"$work" || fail "no compiler"
  launch -n 2 ./theirs
  expect_code 0
  said_once "tutti: ./theirs runs with the library of Open MPI (libmpi.so.40), which finds its ranks by PMIx"
  nothing_is_left
}
# As Open MPI's do: memory in /dev/shm that is to be removed whatever ends a rank.
test_clients_of_pmix_leave_nothing() {
  touch litter
  launch -n 1 "$hello" litter "$work/litter"
  expect_code 137
  [ ! -e litter ] || fail "a file is left that was to be removed"
  launch_behind -n 2 sleep 20
  listed() { "$build/bin/tutti" jobs >jobs && grep -q ": sleep, 2 ranks, 2 of them here, started here" jobs; }
  within 10 listed || fail "tutti jobs does not know the ranks"
  kill "$launched"
  wait "$launched"
  nothing_is_left
}
# As Open MPI's MPI_Comm_spawn does it, of two commands.
spawning=$build/tests/launcher/pmix_spawn
spawned_well() {  # PARENTS CHILDREN
  expect_code 0
  printed "child 0 of first in /"
  printed "child $(($2 - 1)) of second in /"
  [ "$(grep -c "of $1 has met $2" out)" = "$1" ] && [ "$(grep -c "of $2 has met $1" out)" = "$2" ] ||
    fail "parents and children have not met"
}
test_clients_of_pmix_spawn() {
  launch -n 1 "$spawning" 1
  spawned_well 1 2
  launch -n 2 "$spawning" 3
  spawned_well 2 4
  [ ! -s err ] || fail "something is said"
  # What becomes of children that have parted is their own affair, and mpirun stays until they have ended.
  launch -n 2 "$spawning" 2 fail
  expect_code 0
  said "exited with code 3"
  nothing_is_left
}
test_clients_of_pmix_on_several_nodes_spawn() {
  fake_nodes
  launch "${remote[@]}" -n 6 "$spawning" 4
  spawned_well 6 5
  launch "${remote[@]}" -n 5 "$spawning" 3 wait/crash
  expect_code 137
  nothing_is_left
}
test_spawns_of_clients_of_pmix_fail_with_a_sentence() {
  launch -n 1 "$spawning" 1 part "$work/absent"
  expect_code 5
  printed "no spawn: JOB"
  said_once "tutti: warning: rank 0 of $spawning wants more processes started by PMIx, and they could not be started"
  said "there is no $work/absent"
  launch -n 1 "$spawning" 0 part "$work/absent"
  expect_code 5
  said_once "0 processes of $work/absent are asked for"
  TEST_KEY=pmix.mapby=:nooversubscribe launch -H localhost:2 -n 1 "$spawning" 2
  expect_code 5
  said_once "more processes started by PMIx, and they could not be started: 3 ranks"
  TEST_KEY=test.odd=x TEST_REQUIRES=1 launch -n 1 "$spawning" 1
  expect_code 5
  said_once "the key 'test.odd', which it requires, is not known here"
  TEST_KEY=test.odd=x launch -n 1 "$spawning" 1
  spawned_well 1 2
  said_once "the key 'test.odd' is not known here, and is left out"
  nothing_is_left
}
# Where they may be the job's nodes say, whatever the program's own arguments are: on a small machine and on a large one.
test_spawned_clients_of_pmix_are_on_the_nodes_of_the_job() {
  export TEST_KEY=pmix.mapby=:nooversubscribe
  launch -H localhost:8 -n 1 "$spawning" 2 --host
  spawned_well 1 3
  launch -H localhost:2 -n 1 "$spawning" 2 --host
  expect_code 5
  said_once "more processes started by PMIx, and they could not be started: 3 ranks"
  nothing_is_left
}
test_a_job_that_ends_spawns_nothing_by_pmix() {
  printf '#!/bin/sh\nexec sleep 30\n' >stays
  chmod +x stays
  launch_behind --set launch.kill_grace=20s -n 1 "$spawning" 1 part/late "$work/stays"
  is_here() { grep -q "is here" out; }
  within 20 is_here || fail "the rank does not begin"
  kill -TERM "$launched"
  code=0
  wait "$launched" || code=$?
  expect_code 143
  printed "no spawn: JOB"
  nothing_is_left
}
test_the_end_of_a_spawned_launcher_has_a_sentence() {
  launch_behind -n 1 "$spawning" 2 wait/wait
  both() { [ "$("$build/bin/tutti" jobs | grep -c ": pmix_spawn, [13] rank")" = 2 ]; }
  within 20 both || fail "tutti jobs does not know both"
  local pid
  for pid in $(pgrep -P "$launched"); do
    grep -qz "^TUTTI_SPAWNED_BY=" "/proc/$pid/environ" && kill -9 "$pid"
  done
  code=0
  wait "$launched" || code=$?
  expect_code 137
  said_once "the launcher of the processes that rank 0 of $spawning has spawned by PMIx (process "
  nothing_is_left
}
test_spawned_clients_of_pmix_end_with_their_parents() {
  launch -n 2 "$spawning" 2 crash/wait
  expect_code 137
  said_once "was killed by signal 9"
  launch -n 2 "$spawning" 2 wait/crash
  expect_code 137
  said_once "was killed by signal 9"
  # Who has left is waited for by nobody.
  launch -n 2 "$spawning" 2 part/leave
  expect_code 0
  said "PMIx_Connect: "
  # By a name of its own: the same test of another tree may run beside this one.
  cp "$spawning" "$work/parts$$"
  launch_behind -n 1 "$work/parts$$" 2 wait/wait
  both() { [ "$("$build/bin/tutti" jobs | grep -c ": parts$$, [13] rank")" = 2 ]; }
  within 20 both || fail "tutti jobs does not know both"
  kill "$launched"
  wait "$launched" && fail "mpirun ends well"
  nothing_is_left
  launch_behind -n 1 "$work/parts$$" 2 wait/wait
  within 20 both || fail "tutti jobs does not know both"
  kill -9 "$launched"
  wait "$launched"
  nothing_is_left
}
# Programs and scripts ask for these before MPI_Init.
test_ranks_find_their_numbers_in_the_environment() {
  cat >says <<'END'
#!/bin/sh
echo "$OMPI_COMM_WORLD_RANK $OMPI_COMM_WORLD_SIZE $OMPI_COMM_WORLD_LOCAL_RANK $OMPI_COMM_WORLD_LOCAL_SIZE $OMPI_COMM_WORLD_NODE_RANK" \
  "$MPI_LOCALRANKID $MPI_LOCALNRANKS $TUTTI_RANK $TUTTI_SIZE $TUTTI_LOCAL_RANK $TUTTI_LOCAL_SIZE ${PMI_RANK-none} ${PMI_SIZE-none}"
END
  chmod +x says
  launch -n 2 ./says : -n 1 ./says
  expect_code 0
  local rank
  for rank in 0 1 2; do printed "$rank 3 $rank 3 $rank $rank 3 $rank 3 $rank 3 none none"; done
  printed_lines 3
  fake_nodes
  launch "${remote[@]}" -n 6 ./says
  printed "3 6 1 2 1 1 2 3 6 1 2 none none"
  # A job inside of a rank has its own numbers, or none.
  launch -n 2 "$mpirun" -n 1 ./says
  [ "$(grep -c "^0 1 0 1 0 0 1 0 1 0 1 none none$" out)" = 2 ] || fail "a nested job has other numbers"
  launch -n 2 "$mpirun" --set launch.rank_variables=off -n 1 ./says
  [ "$(grep -c "^          *none none$" out)" = 2 ] || fail "a nested job has the outer one's numbers"
  # Those of another launcher are the user's, where ours are off.
  OMPI_COMM_WORLD_RANK=7 launch --set launch.rank_variables=off -n 1 ./says
  [ "$(sed 's/ .*//' out)" = 7 ] || fail "another launcher's numbers are gone"
  nothing_is_left
}
