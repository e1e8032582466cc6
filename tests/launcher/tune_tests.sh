# SPDX-License-Identifier: BSD-3-Clause
# Sourced by processes.sh. `tutti tune`: what it refuses, and that what it measures becomes settings. How fast anything is,
# nothing here asserts.

tune() {
  code=0
  "$build/bin/tutti" tune "$@" >out 2>err || code=$?
}

test_tune_refuses_what_it_cannot_do() {
  tune --rounds 0
  expect_code 2
  said "tutti tune: --rounds takes a number from 1 to 100, and not '0'"
  tune --longest 3
  expect_code 2
  said "tutti tune: --longest takes bytes from 64 to 64m, and not '3'"
  tune -o
  expect_code 2
  said "tutti tune: -o needs a value"
  tune --fast
  expect_code 2
  said "tutti tune takes -o FILE, --print, --rounds and --longest, not '--fast'"
  tune --print -o here
  expect_code 2
  said "leave out one of --print and -o"
  (
    unset HOME XDG_CONFIG_HOME
    tune
    expect_code 2
    said "neither HOME nor XDG_CONFIG_HOME says where your settings are"
  ) || exit 1
  mkdir -p config/tutti
  printf 'wait:\n  spins: 9\ncollectives.override: bcast chain\n' >config/tutti/tutti.yaml
  cp config/tutti/tutti.yaml before
  tune
  expect_code 1
  said "$work/config/tutti/tutti.yaml:3 gives collectives.override already"
  cmp config/tutti/tutti.yaml before || fail "the file has changed"
  tune -o "$work"
  expect_code 1
  said "$work is no file of settings, but a folder, a device or the like"
  tune --help
  expect_code 0
  printed "Usage: tutti tune"
}

# On two cores; where there is one it says so.
test_tune_writes_settings_by_library() {
  mkdir -p config/tutti
  # What was written before is replaced, and what others have written stays.
  printf "wait.spins: 9\n# >>> tutti tune\ncollectives.override: 'bcast shared=yes binomial'\n# <<< tutti tune\n" >config/tutti/tutti.yaml
  tune --rounds 1 --longest 256
  if grep -q "needs a core for each of its two ranks" err; then exit 77; fi
  expect_code 0
  "$build/bin/tutti" info --config >settings 2>err2 || fail "the settings cannot be read: $(cat err2)"
  grep -q '^wait.spins: 9 ' settings || fail "another setting is gone"
  ! grep -q "'bcast shared=yes binomial'" config/tutti/tutti.yaml || fail "the former choice is still there"
  if grep -q "nothing is clearly faster" err; then
    [ "$(cat config/tutti/tutti.yaml)" = 'wait.spins: 9' ] || fail "something was written: $(cat config/tutti/tutti.yaml)"
  else
    printed "written to $work/config/tutti/tutti.yaml"
    grep -q "^collectives.override: .*tutti.yaml:" settings || fail "nothing was chosen: $(cat settings)"
  fi
  # What is printed could be written, and is taken by a job.
  cp config/tutti/tutti.yaml before
  tune --print --rounds 1 --longest 256
  expect_code 0
  cmp config/tutti/tutti.yaml before || fail "--print has written"
  cp out config/tutti/tutti.yaml
  launch -n 2 "$build/libexec/tutti/tutti-tune" collectives 64
  expect_code 0
  nothing_is_left
}
