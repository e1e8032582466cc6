# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests that read sources of launcher, runtime and lib, in the folder of the sources: which of them differ from
# the upstream branch (where that has everything, or there is none: from the last commit but one), and how they are compiled.
folders=(launcher runtime lib)

# flags_of SOURCE BUILD: the macros and the folders of headers that the build gives to these sources, a line each. A build
# may compile a room of them at once, by a file of its own, so that most are not named in its database.
flags_of() {
  python3 - "$2/compile_commands.json" "${folders[@]/#/$1/}" "${folders[@]/#/$2/}" <<'PYTHON'
import json, shlex, sys
seen = {}
for entry in json.load(open(sys.argv[1])):
    if entry["file"].startswith(tuple(folder + "/" for folder in sys.argv[2:])):
        words = iter(shlex.split(entry["command"]))
        for word in words:
            if word == "-isystem":
                seen[word + next(words)] = None
            elif word[:2] in ("-D", "-I"):
                seen[word] = None
print(*seen, sep="\n")
PYTHON
}

changed() {
  git rev-parse -q --verify HEAD >/dev/null || return 1
  local since
  since=$(git merge-base HEAD '@{upstream}' 2>/dev/null || git merge-base HEAD origin/HEAD 2>/dev/null || true)
  if [ -z "$since" ] || [ "$since" = "$(git rev-parse HEAD)" ]; then
    since=$(git rev-parse -q --verify HEAD~1) || since=HEAD
  fi
  git diff --name-only --diff-filter=d "$since" -- "${folders[@]}"
  git ls-files --others --exclude-standard -- "${folders[@]}"
}

# A header is seen through the source of its name, or through one that includes it.
sources_of() {
  local file twin
  while read -r file; do
    case $file in
      *.cpp) echo "$file" ;;
      *.hpp)
        twin=${file%.hpp}.cpp
        if [ ! -e "$twin" ]; then
          twin=$(grep -rlE "#include \"([a-z_]+/)*${file##*/}\"" --include='*.cpp' "${folders[@]}" | sort | head -n 1)
        fi
        [ -z "$twin" ] || echo "$twin" ;;
    esac
  done
}
