#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Faults of file systems and processes under programs with files: a file system that runs full amid collective writes
# or can only be read, calls that fail, are interrupted or move too little, a rank that is killed, one that waits for a lock.
# usage: faults.sh BIN PROGRAM CALLS CASE
set -u
bin=$1 program=$2 calls=$3 case=$4
folder=$(mktemp -d "${TMPDIR:-/tmp}/tutti-files-XXXXXX")
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "$case: $*"
  echo "--- said:"
  cat "$folder"/out "$folder"/err
  exit 1
}
run() { timeout 100 "$bin/mpirun" "$@" >"$folder/out" 2>"$folder/err"; }
passes() { run "$@" || fail "ended with $?"; }

# In a mount namespace of its own: what is mounted there goes with it.
with_mount() {
  local as=()
  [ "$(id -u)" = 0 ] || as=(-r)
  unshare -m "${as[@]}" true 2>/dev/null || exit 77
  unshare -m "${as[@]}" bash -c "
    mkdir '$folder/small' && mount -t tmpfs -o size=$1 tutti-small '$folder/small' || exit 77
    : >'$folder/small/file.there'
    $2
    timeout 100 '$bin/mpirun' -n 4 '$program' $3 '$folder/small/file' >'$folder/out' 2>'$folder/err'"
  local code=$?
  [ $code != 77 ] || exit 77
  [ $code = 0 ] || fail "ended with $code"
}

case $case in
  full) with_mount 1m "" full ;;
  readonly) with_mount 1m "mount -o remount,ro '$folder/small'" readonly ;;
  short)
    for n in 1 3; do passes -n $n -x LD_PRELOAD="$calls" -x FILE_CALLS=short "$program" short "$folder/file"; done
    passes -n 2 -x LD_PRELOAD="$calls" -x FILE_CALLS=short "$program" interrupted "$folder/file.closed"
    ;;
  closing)
    for rank in 0 2; do
      passes -n 3 -x LD_PRELOAD="$calls" -x FILE_CALLS=closing -x FILE_CALLS_RANK=$rank "$program" closing "$folder/file.closed"
    done
    [ ! -e "$folder/file.closed" ] || fail "the file was not deleted on close"
    passes -n 3 -x LD_PRELOAD="$calls" -x FILE_CALLS=deleting -x FILE_CALLS_RANK=0 "$program" deleting "$folder/file.closed"
    run -n 3 -x LD_PRELOAD="$calls" -x FILE_CALLS=closing -x FILE_CALLS_RANK=1 "$program" closing.fatal "$folder/file.closed"
    code=$?
    [ $code != 0 ] && [ $code -lt 124 ] || fail "fatal: ended with $code"
    grep -q "error: rank [012] on .*: MPI_File_close: .*closing it: Disk quota exceeded.*The job ends" "$folder/err" ||
      fail "fatal: the reason is not told"
    ;;
  broken)
    passes -n 4 -x LD_PRELOAD="$calls" -x FILE_CALLS=broken -x FILE_CALLS_RANK=3 "$program" broken "$folder/file"
    ;;
  killed)
    run -n 4 "$program" killed "$folder/file"
    code=$?
    [ $code = 137 ] || fail "ended with $code, not 137"
    grep -q "rank 1.*killed by signal 9" "$folder/err" || fail "nobody says that rank 1 was killed"
    passes -n 4 "$program" atomic "$folder/file"
    ;;
  aggregator)
    # An atomic access of a new job waits for ever where a lock was left.
    passes -n 4 -x LD_PRELOAD="$calls" -x FILE_CALLS=short "$program" short "$folder/file"
    for form in write read split iwrite iread; do
      for rank in 1 3; do
        run -n 4 -x LD_PRELOAD="$calls" -x FILE_CALLS=killed -x FILE_CALLS_RANK=$rank "$program" aggregator.$form "$folder/file"
        code=$?
        [ $code = 137 ] || fail "$form: ended with $code, not 137"
        grep -q "rank $rank.*killed by signal 9" "$folder/err" || fail "$form: nobody says that rank $rank was killed"
        passes -n 4 "$program" atomic "$folder/file"
      done
    done
    ;;
  why)
    "$bin/mpirun" -n 3 "$program" locked "$folder/file" >"$folder/out" 2>"$folder/err" &
    job=$!
    for _ in $(seq 200); do
      first=$(pgrep -P $job -x program.file.fa | head -1)
      id=$([ -z "$first" ] || tr '\0' '\n' <"/proc/$first/environ" | sed -n 's/^TUTTI_JOB=//p')
      [ -z "$id" ] || "$bin/tutti" why "$id" >"$folder/why" 2>/dev/null
      told=$(grep -cs "rank [12] is in fcntl for a lock, 4 bytes at offset \(128\|256\) of $folder/file" "$folder/why")
      [ "$told" = 2 ] && break
      sleep 0.1
    done
    json=$("$bin/tutti" why --json "$id")
    touch "$folder/file.go"
    wait $job || fail "the job ended with $?"
    [ "$told" = 2 ] || { cat "$folder/why"; fail "the file is not told"; }
    grep -q "\"file\":\"in fcntl for a lock, 4 bytes at offset 128 of $folder/file\"" <<<"$json" || fail "no JSON: $json"
    ;;
  *) fail "no such case" ;;
esac
