#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# wheel.sh SOURCE BUILD SUITE: the wheel of ./dev wheel, made of a build: two of it are the same, what its list says is in it,
# and in a fresh root of that release, which has no library of Tutti's and no compiler, pip installs it into an environment
# of an ordinary user, where commands, ranks in C and in Python, and removal work. Exit 77: not asked for (TUTTI_LONG=1), or
# not possible here.
set -euo pipefail
source_dir=$(cd "${1:?usage: wheel.sh SOURCE BUILD SUITE}" && pwd)
build=$(cd "${2:?usage: wheel.sh SOURCE BUILD SUITE}" && pwd)
suite=${3:?usage: wheel.sh SOURCE BUILD SUITE}
. "$(dirname "$0")/root.sh"
[ "${TUTTI_LONG:-}" = 1 ] || skip "it wants a root of its own; TUTTI_LONG=1 asks for it"
may_make_root "$source_dir"
for tool in patchelf strip readelf dpkg; do command -v $tool >/dev/null || skip "there is no $tool"; done
make_root $suite python3-venv

say "the wheel, twice"
cmake --install "$build" --prefix "$work/out" >"$work/install.log" || { cat "$work/install.log"; fail "cmake --install"; }
wheel=$(python3 "$source_dir/packaging/wheel.py" "$work/out" "$work/one") || fail "wheel.py"
again=$(python3 "$source_dir/packaging/wheel.py" "$work/out" "$work/two") || fail "wheel.py, the second time"
cmp "$wheel" "$again" || fail "two wheels of one installation differ"
ls -l "$wheel"
python3 - "$wheel" <<'END'
import base64, hashlib, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
record = next(name for name in wheel.namelist() if name.endswith("/RECORD"))
rows = dict(line.split(",", 1) for line in wheel.read(record).decode().splitlines())
assert sorted(rows) == sorted(wheel.namelist()), "the list names others than the files that are there"
for name, row in rows.items():
    data = wheel.read(name)
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    assert name == record or row == f"sha256={digest},{len(data)}", name
END

say "an environment in a bare $suite"
[ -z "$(find "$root" -name 'libucp*' -o -name 'libpmix*' -o -name 'libhwloc*' -o -name 'libevent*' -o -name 'libdw*' -o -path '*/bin/gcc')" ] ||
  fail "the root is not bare"
install python3-venv
offline useradd --create-home player
mkdir "$root/wheel"
cp "$wheel" "$root/wheel"
# `player COMMAND` runs it with the environment on the PATH.
player() { offline setpriv --reuid=player --regid=player --clear-groups env HOME=/home/player PATH="/home/player/env/bin:/usr/bin:/bin" "$@"; }
player python3 -m venv /home/player/env
files() { find "$root/home/player/env" ! -type d ! -name '*.pyc' | sort; }
files >"$work/before"
player pip install -q --no-index --disable-pip-version-check "/wheel/$(basename "$wheel")" || fail "pip does not install it"
# Of ours: the others are led by them.
player sh -c 'for file in ~/env/bin/tutti ~/env/libexec/tutti/* ~/env/lib/libmpi*.so.*; do ldd $file; done' >"$work/ldd"
if grep 'not found' "$work/ldd" | grep -v 'libgfortran\|libquadmath'; then fail "a library is missing"; fi
if grep -E '=> /(usr/)?lib' "$work/ldd" | grep -vE 'lib(c|m|stdc\+\+|gcc_s|resolv|dl|rt|pthread|gfortran|quadmath)\.so'; then
  fail "a library of the system's is loaded"
fi
player tutti info | tee "$work/info"
grep -q 'UCX [0-9].*compiled with' "$work/info" || fail "UCX is not loaded"

say "ranks"
# The program is compiled on this machine with the wheel's mpicc, and finds the library where it will stand there.
python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])' "$wheel" "$work/unpacked"
chmod -R u+x "$work/unpacked"/*.data/data/bin
cat >"$work/hello.c" <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  int rank, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("sum %d\n", sum);
  MPI_Finalize();
  return 0;
}
END
"$work/unpacked"/*.data/data/bin/mpicc -Wl,-rpath,/home/player/env/lib "$work/hello.c" -o "$root/wheel/hello" || fail "the wheel's mpicc"
for transport in on off; do  # off: by UCX
  [ "$(player mpirun --set transport.shared_memory=$transport -n 3 /wheel/hello 2>"$work/err")" = "sum 3" ] ||
    { cat "$work/err"; fail "three ranks with shared memory $transport"; }
  [ ! -s "$work/err" ] || { cat "$work/err"; fail "it says something"; }
done
cat >"$root/wheel/check.py" <<'END'
import ctypes, sys
mpi = ctypes.CDLL(sys.prefix + "/lib/libmpi_abi.so.1")
mpi.MPI_Init(None, None)
rank = ctypes.c_int()
mpi.MPI_Comm_rank(ctypes.c_void_p(0x101), ctypes.byref(rank))
print("rank", rank.value)
mpi.MPI_Finalize()
END
[ "$(player mpirun -n 2 python3 /wheel/check.py | sort)" = "rank 0
rank 1" ] || fail "two ranks in Python"
player tutti doctor >"$work/doctor" || { cat "$work/doctor"; fail "tutti doctor finds something bad"; }

say "removal"
player pip uninstall -q -y tutti
files | diff "$work/before" - || fail "pip leaves something, or takes away what was there"
say "the wheel is right"
