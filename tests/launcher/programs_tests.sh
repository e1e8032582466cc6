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
