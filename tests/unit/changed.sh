# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests that read sources of launcher, runtime and lib, in the folder of the sources: which of them differ from
# the upstream branch (where that has everything, or there is none: from the last commit but one).
folders=(launcher runtime lib)

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
