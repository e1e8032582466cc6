#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# sanitizers.sh BUILD address|leak|thread: a right program that mpicc builds with -fsanitize runs without a word of
# the sanitizer's, on 1, 2 and 4 ranks and by itself; a fault of its own is reported. So is it if the program was not
# linked by mpicc, under mpirun.
set -u
build=$1
sanitizer=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset LSAN_OPTIONS TSAN_OPTIONS ASAN_OPTIONS UCX_MEM_MMAP_HOOK_MODE
bad=0 done=0

# ends CODE|other WHAT COMMAND…: with that code, and with WHAT in what it says, or without any sanitizer's word.
ends() {
  local code=$1 what=$2 got said
  shift 2
  done=$((done + 1))
  for try in 1 2 3 4 5; do
    said=$(timeout -k 5 120 "$@" 2>&1 </dev/null)
    got=$?
    if [ -z "$what" ]; then
      [ $got = "$code" ] && case $said in *Sanitizer* | *uppression*) false ;; *) true ;; esac && return
      break
    fi
    [ $got != 0 ] && [ $got != 124 ] && case $said in *"$what"*) return ;; esac
    [ "$sanitizer" = thread ] || break  # whose runtime in clang 14 misses the race in some runs
  done
  bad=$((bad + 1))
  printf 'wrong: %s\n  ends with %s, and says: %s\n' "$*" $got "$(printf '%s\n' "$said" | head -60)"
}

case $sanitizer in
  address) fault=overflow word="AddressSanitizer: heap-buffer-overflow" leak="LeakSanitizer: detected memory leaks" ;;
  leak) fault=leak word="LeakSanitizer: detected memory leaks" leak=$word ;;
  thread) fault=race word="ThreadSanitizer: data race" leak= ;;
esac
mpirun=$build/bin/mpirun
for compiler in gcc clang; do
  command -v $compiler >/dev/null || continue
  [ $compiler$sanitizer != clangleak ] || continue  # mpicc(1): its runtime's own options stand before ours
  echo 'int main(void) { return 0; }' >"$work/can.c"
  if ! $compiler -fsanitize="$sanitizer" "$work/can.c" -o "$work/can" 2>"$work/why" || ! "$work/can" 2>>"$work/why"; then
    echo "$compiler: no -fsanitize=$sanitizer here: $(head -1 "$work/why")"
    continue
  fi
  TUTTI_CC=$compiler "$build/bin/mpicc" -g -fsanitize="$sanitizer" "$here/sanitizers.c" -o "$work/program" || exit 1
  # As a build system does that knows of mpicc no more than where mpi.h and the library are.
  $compiler -g -fsanitize="$sanitizer" -I"$build/include" "$here/sanitizers.c" -o "$work/plain" -L"$build/lib" \
    -Wl,-rpath,"$build/lib" -lmpi_abi -lpthread || exit 1
  for ranks in 1 2 4; do ends 0 "" "$mpirun" -n $ranks "$work/program"; done
  ends 0 "" "$mpirun" -n 2 --set transport.shared_memory=off "$work/program"
  [ $sanitizer = leak ] || ends 0 "" "$mpirun" -n 2 "$work/plain"
  # clang puts its own empty list of races before a program's weak one; without a launcher that one remains.
  [ $compiler$sanitizer = clangthread ] || ends 0 "" "$work/program"
  [ $sanitizer = leak ] || ends 3 "" "$mpirun" -n 2 "$work/program" abort
  ends other "$word" "$mpirun" -n 2 "$work/program" $fault
  ends other "$word" "$work/program" $fault
  [ -z "$leak" ] || ends other "$leak" "$mpirun" -n 2 "$work/program" leak
  # The user's own options hold, beside ours.
  case $sanitizer in
    thread) ends other "$word" env TSAN_OPTIONS=exitcode=9 "$mpirun" -n 2 "$work/program" $fault ;;
    *)
      printf 'leak:main\n' >"$work/own.supp"
      ends 0 "" env LSAN_OPTIONS="suppressions=$work/own.supp" "$mpirun" -n 2 "$work/program" leak
      ends other "$leak" env LSAN_OPTIONS=exitcode=9 "$mpirun" -n 2 "$work/program" leak
      ;;
  esac
done
echo "$done runs, $bad wrong"
[ $done -gt 0 ] || exit 77
[ $bad = 0 ]
