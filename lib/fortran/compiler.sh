#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# usage: compiler.sh COMMAND…   prints under which name the modules of a Fortran compiler are kept: what it is, and
# the version that decides about the form of its modules. Fails where the command is not there.
command -v -- "$1" >/dev/null || exit 1
said=$("$@" --version 2>/dev/null | head -n 1)
case $said in
  'GNU Fortran'*) major=$("$@" -dumpversion) && printf 'gfortran-%s\n' "${major%%.*}" ;;
  *flang*) version=${said##*version } && printf 'flang-%s\n' "${version%%.*}" ;;
  ifx* | ifort*) printf '%s\n' "$said" | sed 's/^\([a-z]*\) .* \([0-9][0-9]*\.[0-9][0-9]*\).*/\1-\2/' ;;
  *) printf '%s' "${1##*/} $said" | tr -cs 'A-Za-z0-9.\n' '-' && echo ;;
esac
