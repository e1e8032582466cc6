# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests that have the Debian packages in $root, whose root it is: what they hold, and what becomes of a system by
# them. The functions of root.sh are there, and `runs BIN`, which compiles and runs a program.
parts="tutti tutti-lib tutti-dev tutti-fortran-dev tutti-doc"
# Those that are not for reading.
debs=$(for part in $parts; do [ $part = tutti-doc ] || echo "/${part}_*.deb"; done)

# One file of each package by which one sees that it has what it is for; nobody's folder in any of it.
debs_hold_what_they_should() {
  local part file
  for part in $parts; do
    rm -rf "$work/unpacked/$part"
    mkdir -p "$work/unpacked"
    dpkg-deb -x "$root/${part}"_*.deb "$work/unpacked/$part" || fail "there is no package $part"
  done
  while read -r part file; do
    compgen -G "$work/unpacked/$part/$file" >/dev/null || fail "$part lacks $file"
  done <<'END'
tutti usr/lib/tutti/bin/mpirun
tutti usr/lib/tutti/libexec/tutti/tuttid
tutti usr/bin/mpirun.tutti
tutti etc/tutti/tutti.yaml
tutti usr/share/man/man1/mpirun.tutti.1.gz
tutti-lib usr/lib/tutti/lib/libmpi_abi.so.1
tutti-lib usr/lib/tutti/lib/libmpifort_abi.so.2
tutti-lib usr/lib/tutti/share/tutti/tutti.spdx
tutti-dev usr/lib/tutti/include/mpi.h
tutti-dev usr/bin/mpicc.tutti
tutti-dev usr/lib/tutti/lib/pkgconfig/tutti.pc
tutti-fortran-dev usr/lib/tutti/lib/tutti/fortran/gfortran-*/mpi_f08.mod
tutti-fortran-dev usr/lib/tutti/lib/pkgconfig/tutti-fort.pc
tutti-doc usr/lib/tutti/share/man/man3/MPI_Send.3
tutti-doc usr/share/doc/tutti-doc/first-steps.md*
END
  for part in tutti tutti-lib; do compgen -G "$root/$part-dbgsym_*.deb" >/dev/null || fail "there are no debug symbols of $part"; done
  # The same name for two files of two packages would be an error when both are installed.
  (cd "$work/unpacked" && find . -mindepth 2 ! -type d | cut -d/ -f3- | sort | uniq -d) | grep . && fail "two packages have these"
  # What names the folder that it was built in is another file in another folder.
  grep -rlF -e /src/build -e "/src/runtime" "$work/unpacked" && fail "these name the folder that they were built in"
  [[ $(dpkg-deb -f "$root"/tutti-fortran-dev_*.deb Depends) =~ gfortran-[0-9] ]] || fail "nobody says whose modules these are"
}

is_alternative() { [ "$(offline readlink -f "/usr/bin/$1")" = "$2" ]; }

# Beside Open MPI and MPICH; with changed settings, which an upgrade keeps; and as the choice of an administrator.
debs_are_installed_upgraded_and_chosen() {
  local before part deb
  before=$(offline sh -c 'readlink -f /usr/bin/mpirun /usr/bin/mpicc; ls -l /usr/lib/*/libmpi*.so*')
  offline sh -c "dpkg -i $(echo $debs)" >"$work/apt.log" 2>&1 || { tail -20 "$work/apt.log"; fail "the Debian packages do not install"; }
  [ "$(offline sh -c 'readlink -f /usr/bin/mpirun /usr/bin/mpicc; ls -l /usr/lib/*/libmpi*.so*')" = "$before" ] ||
    fail "the packages change what mpirun, mpicc and libmpi are"
  for part in mpirun.tutti mpiexec.tutti; do
    [ "$(offline $part -n 2 echo x | wc -l)" = 2 ] || fail "$part does not run a program"
  done
  offline mpicc.tutti -show | grep -q -- -lmpi_abi || fail "mpicc.tutti is not Tutti's"

  say "upgrade"
  echo '# ours' >>"$root/etc/tutti/tutti.yaml"
  mkdir "$root/newer"
  for part in $parts; do
    [ $part != tutti-doc ] || continue
    rm -rf "$work/repacked"
    dpkg-deb -R "$root/${part}"_*.deb "$work/repacked"
    sed -i 's/0\.1\.0/0.1.0+newer/g' "$work/repacked/DEBIAN/control"
    dpkg-deb --root-owner-group -Zgzip -z1 -b "$work/repacked" "$root/newer/$part.deb" >/dev/null
  done
  offline sh -c 'dpkg -i /newer/*.deb' >"$work/apt.log" 2>&1 || { tail -20 "$work/apt.log"; fail "the packages cannot be upgraded"; }
  tail -n 1 "$root/etc/tutti/tutti.yaml" | grep -q '^# ours$' || fail "an upgrade takes the administrator's settings away"
  [ "$(offline dpkg-query -Wf '${Version}' tutti)" = 0.1.0+newer ] || fail "nothing was upgraded"

  say "alternatives"
  offline update-alternatives --set mpirun /usr/bin/mpirun.tutti >/dev/null
  offline update-alternatives --set mpi /usr/bin/mpicc.tutti >/dev/null
  is_alternative mpirun /usr/lib/tutti/bin/tutti && is_alternative mpiexec /usr/lib/tutti/bin/tutti || fail "mpirun cannot be chosen"
  is_alternative mpicc /usr/lib/tutti/bin/mpicc && is_alternative mpif90 /usr/lib/tutti/bin/mpifort &&
    is_alternative mpic++ /usr/lib/tutti/bin/mpicxx || fail "mpicc and its kin cannot be chosen"
  [ "$(offline sh -c 'ls -l /usr/lib/*/libmpi*.so*')" = "$(tail -n +3 <<<"$before")" ] || fail "the choice changes libmpi"
  runs /usr/bin
  offline update-alternatives --auto mpirun >/dev/null
  offline update-alternatives --auto mpi >/dev/null
  [ "$(offline sh -c 'readlink -f /usr/bin/mpirun /usr/bin/mpicc')" = "$(head -n 2 <<<"$before")" ] || fail "another MPI does not come back"
}

debs_are_removed_and_purged() {
  local installed=${parts% *} left
  offline apt-get -q -y remove $installed >"$work/apt.log" 2>&1 || { tail -5 "$work/apt.log"; fail "the packages cannot be removed"; }
  for left in /usr/lib/tutti /usr/bin/tutti /usr/bin/mpirun.tutti /usr/bin/mpicc.tutti; do
    [ ! -e "$root$left" ] && [ ! -L "$root$left" ] || fail "removal leaves $left"
  done
  [ -e "$root/etc/tutti/tutti.yaml" ] || fail "removal takes settings away, which is for purging"
  offline update-alternatives --query mpirun | grep -q tutti && fail "removal leaves an alternative"
  offline update-alternatives --query mpi | grep -q tutti && fail "removal leaves an alternative"
  # apt no longer knows those that had no settings.
  offline dpkg --purge $installed >"$work/apt.log" 2>&1 || { tail -5 "$work/apt.log"; fail "the packages cannot be purged"; }
  for left in /usr/lib/tutti /etc/tutti /usr/bin/tutti; do
    [ ! -e "$root$left" ] || fail "purging leaves $left"
  done
}
