#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# fresh_readme.sh SOURCE SUITE: what README.md tells under "Install", in a fresh Debian of that release, with the packages that
# it names, which are those that packaging/debian/control declares, and without network. Exit 77: not asked for
# (TUTTI_LONG=1), or not possible here.
set -euo pipefail
source_dir=$(cd "${1:?usage: fresh_readme.sh SOURCE SUITE}" && pwd)
suite=${2:?usage: fresh_readme.sh SOURCE SUITE}
. "$(dirname "$0")/root.sh"
[ "${TUTTI_LONG:-}" = 1 ] || skip "it compiles everything; TUTTI_LONG=1 asks for it"
make_fresh_root "$source_dir" $suite
unpack_sources "$source_dir" /readme
say "README's Install"
block=$(sed -n '/^## Install/,/^## /p' "$root/readme/README.md" | sed -n '/^```sh/,/^```/p' | sed '/^```/d' | sed -e :join -e '/\\$/N; s/\\\n//; tjoin')
packages=$(printf '%s\n' "$block" | sed -n 's/^apt-get install //p')
for package in $packages; do
  case " $tools g++ $(echo $declared) " in *" $package "*) ;; *) fail "README names $package, debian/control does not" ;; esac
done
for package in $declared; do
  case " $packages debhelper chrpath " in *" $package "*) ;; *) fail "debian/control names $package, README does not" ;; esac
done
printf '%s\n' "$block" | grep -v '^apt-get' >"$root/readme/steps.sh"
offline sh -ec 'cd /readme && . ./steps.sh' >"$work/readme.log" 2>&1 || { tail -40 "$work/readme.log"; fail "README's Install fails"; }
runs /opt/tutti/bin
say "README is right"
