# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests that have the RPMs in $root/rpm/RPMS, whose root it is: where their files are by Fedora's conventions, and
# that they work from there. The functions of root.sh are there, and `runs BIN`, which compiles and runs a program.

rpms_stand_as_fedora_has_them() {
  local part file arch prefix variable
  arch=$(uname -m)
  # rpm of some distributions writes symbols apart by itself, as Fedora's does; of them nothing is expected here.
  offline sh -c 'mkdir -p /rpm/symbols && for each in /rpm/RPMS/*/tutti-debug*.rpm; do [ ! -e "$each" ] || mv "$each" /rpm/symbols/; done'
  offline sh -c 'rpm -qp --qf "%{NAME} %{ARCH}\n" /rpm/RPMS/*/*.rpm' | sort >"$work/rpm.names"
  printf '%s\n' "tutti $arch" "tutti-common noarch" "tutti-devel $arch" | diff - "$work/rpm.names" || fail "other RPMs than there should be"
  for part in tutti tutti-common tutti-devel; do
    offline sh -c "rpm -qlp /rpm/RPMS/*/$part-[0-9]*.rpm" >"$work/files.$part"
  done
  while read -r part file; do
    grep -qE -- "^$file\$" "$work/files.$part" || fail "the RPM $part lacks $file"
  done <<END
tutti /usr/lib(64)?/tutti/bin/mpirun
tutti /usr/lib(64)?/tutti/lib/libmpi_abi.so.1
tutti /usr/bin/tutti
tutti /etc/tutti-$arch/tutti.yaml
tutti /usr/share/man/tutti-$arch/man1/mpirun.1(.gz)?
tutti /usr/share/modulefiles/mpi/tutti-$arch
tutti /.*/tutti.pth
tutti-common /usr/share/man/man1/tutti.1(.gz)?
tutti-devel /usr/include/tutti-$arch/mpi.h
tutti-devel /usr/share/man/tutti-$arch/man3/MPI_Send.3(.gz)?
tutti-devel /usr/lib(64)?/gfortran/modules/tutti/mpi_f08.mod
tutti-devel /etc/rpm/macros.tutti
END
  # A database of its own: this distribution's packages are no RPMs. The links are relative, so that it works there, too.
  offline sh -c 'mkdir -p /rpmroot && rpm --root /rpmroot --initdb && rpm --root /rpmroot --nodeps -i /rpm/RPMS/*/*.rpm' >"$work/rpmroot.log" 2>&1 ||
    { cat "$work/rpmroot.log"; fail "the RPMs do not install"; }
  prefix=$(offline sh -c 'ls -d /rpmroot/usr/lib*/tutti')
  runs "$prefix/bin"
  [[ $(offline "$prefix/bin/mpifort" -showme:modules) = */modules/tutti ]] || fail "mpifort of the RPM does not find its modules"
  [[ $(offline "$prefix/bin/tutti" info) = *"settings from: $prefix/etc/tutti"* ]] || fail "the RPM's settings are not read"
  for variable in MPI_BIN MPI_SYSCONFIG MPI_FORTRAN_MOD_DIR MPI_INCLUDE MPI_LIB MPI_MAN MPI_PYTHON3_SITEARCH MPI_COMPILER MPI_SUFFIX MPI_HOME; do
    grep -qE "^setenv $variable +[^@ ]+$" "$root/rpmroot/usr/share/modulefiles/mpi/tutti-$arch" || fail "the module does not set $variable"
  done
  # Nothing of what the module names is missing.
  sed -n 's/^setenv MPI_[A-Z0-9_]* *\(\/.*\)/\1/p' "$root/rpmroot/usr/share/modulefiles/mpi/tutti-$arch" | while read -r file; do
    [ -d "$root/rpmroot$file" ] || fail "the module names $file, which is not there"
  done
  offline rpm --root /rpmroot -e tutti-devel tutti tutti-common >"$work/rpmroot.log" 2>&1 || { cat "$work/rpmroot.log"; fail "the RPMs cannot be removed"; }
  (cd "$root/rpmroot" && find . -name '*tutti*') | grep . && fail "removal leaves these"
  return 0
}
