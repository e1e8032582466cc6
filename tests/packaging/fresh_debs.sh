#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# fresh_debs.sh SOURCE SUITE: in a fresh Debian of that release, with what packaging/debian/control declares and nothing else,
# the Debian packages are made, without network; they stand beside Open MPI and MPICH, are upgraded, and leave nothing when
# they are removed. TUTTI_KEEP_PACKAGES names a folder that gets them. Exit 77: not asked for (TUTTI_LONG=1), or not possible
# here.
set -euo pipefail
source_dir=$(cd "${1:?usage: fresh_debs.sh SOURCE SUITE}" && pwd)
suite=${2:?usage: fresh_debs.sh SOURCE SUITE}
. "$(dirname "$0")/root.sh"
[ "${TUTTI_LONG:-}" = 1 ] || skip "it compiles everything; TUTTI_LONG=1 asks for it"
make_fresh_root "$source_dir" $suite
offline dpkg-query -W 'libgtest*' googletest 2>/dev/null | grep -q . && fail "GoogleTest came along with the build's packages"
unpack_sources "$source_dir" /src
cp -R "$root/src/packaging/debian" "$root/src/debian"
say "dpkg-buildpackage"
offline sh -c 'cd /src && dpkg-buildpackage -us -uc -b' >"$work/deb.log" 2>&1 || { tail -40 "$work/deb.log"; fail "the Debian packages do not build"; }
grep -q ' -o tests/' "$work/deb.log" && fail "the Debian packages build tests, which they were not to"
. "$(dirname "$0")/debs.sh"
debs_hold_what_they_should
install lintian
offline sh -c 'lintian --fail-on error,warning /tutti_*.changes' || fail "lintian finds something"
[ -z "${TUTTI_KEEP_PACKAGES:-}" ] || { mkdir -p "$TUTTI_KEEP_PACKAGES/$suite" && cp "$root"/tutti*.deb "$TUTTI_KEEP_PACKAGES/$suite"; }

# --- an image of them, as docs/containers.md says

if [ $suite = bookworm ]; then
  say "the image of packaging/container"
  status=0
  bash "$(dirname "$0")/image.sh" "$source_dir" "$root_tar" "$root"/tutti_*.deb "$root"/tutti-{lib,dev}_*.deb || status=$?
  [ $status = 0 ] || [ $status = 77 ] || fail "the container's image"
fi

# --- beside the distribution's MPIs, in either order, and away again

say "beside Open MPI and MPICH"
install openmpi-bin libopenmpi-dev mpich libmpich-dev
debs_are_installed_upgraded_and_chosen
runs /usr/lib/tutti/bin
[ "$(offline tutti run -n 2 /hello | wc -l)" = 2 ] || fail "tutti run does not run a program"
# What build systems ask pkg-config for, beside Open MPI's files; and completions, where bash-completion looks.
for name in mpi mpi-c mpi-cxx mpi-fort ompi-c; do
  offline sh -c "PKG_CONFIG_PATH=/usr/lib/tutti/lib/tutti/pkgconfig pkg-config --libs $name" | grep -q -- -lmpi_abi || fail "pkg-config's $name is another MPI's"
done
for name in tutti mpirun mpiexec; do
  [ -r "$root/usr/share/bash-completion/completions/$name" ] || fail "bash does not find the completion of $name"
done
offline mpirun.openmpi --version >/dev/null && offline mpirun.mpich --version >/dev/null || fail "the other MPIs do not start any more"
# Its MPI_Comm_spawn: each of the parents and of three children tells each on the other side who it is, and they part.
# Open MPI's jobs talk to each other by tcp alone, and by itself it leaves out the loopback, which is all that there is.
five_spawns() {
  cat >"$root/spawns.c" <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  MPI_Comm other;
  int rank, others, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_parent(&other);
  const int is_child = other != MPI_COMM_NULL;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (!is_child && MPI_Comm_spawn(argv[argc - 1], MPI_ARGV_NULL, 3, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other,
                                  MPI_ERRCODES_IGNORE) != MPI_SUCCESS) {
    printf("no spawn\n");
    MPI_Finalize();
    return 0;
  }
  MPI_Comm_remote_size(other, &others);
  for (int i = 0; i < others; ++i) {
    int mine = rank + 1, theirs = 0;
    MPI_Sendrecv(&mine, 1, MPI_INT, i, 0, &theirs, 1, MPI_INT, i, 0, other, MPI_STATUS_IGNORE);
    sum += theirs;
  }
  MPI_Comm_disconnect(&other);
  printf("%s %d: %d\n", is_child ? "child" : "parent", rank, sum);
  MPI_Finalize();
  return 0;
}
END
  local run='OMPI_MCA_btl_tcp_if_include=lo tutti run'
  offline mpicc.openmpi /spawns.c -o /spawns
  [ "$(offline sh -c "$run -n 1 /spawns && ls -A /dev/shm" | sort)" = "child 0: 1
child 1: 1
child 2: 1
parent 0: 6" ] || fail "one rank of Open MPI 5 does not spawn three"
  [ "$(offline sh -c "$run -n 2 /spawns && ls -A /dev/shm" | sort)" = "child 0: 3
child 1: 3
child 2: 3
parent 0: 6
parent 1: 6" ] || fail "two ranks of Open MPI 5 do not spawn three"
  [ "$(offline sh -c "$run -n 2 /spawns /absent" 2>"$work/five.err")" = "no spawn
no spawn" ] || fail "what Open MPI 5 cannot spawn is no error"
  grep -q "could not be started.*there is no /absent" "$work/five.err" || fail "nobody says why nothing is spawned"
}
# Open MPI 5's programs are clients of PMIx: one job, with one line that says whose library it is.
if offline mpirun.openmpi --version | grep -q ' [5-9]\.[0-9]'; then
  offline mpicc.openmpi /hello.c -o /five
  [ "$(offline sh -c 'tutti run -n 2 /five && ls -A /dev/shm' 2>"$work/five.err")" = "of 2
of 2" ] || fail "a program of Open MPI 5 does not run as one job that leaves nothing"
  grep -q "^tutti: /five runs with the library of Open MPI" "$work/five.err" || fail "nobody says whose library it is"
  five_spawns
fi
debs_are_removed_and_purged
say "the packages are right"
