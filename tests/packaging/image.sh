#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# image.sh SOURCE ROOT_TAR DEB…: what docs/containers.md says of an image: the block that builds it of the Debian packages
# with packaging/container/Containerfile, and runs it. ROOT_TAR stands for the image debian:12-slim, which a registry has.
# Exit 77: podman runs no container here.
set -euo pipefail
source_dir=$1
root_tar=$2
shift 2
fail() { echo "wrong: $*" >&2; exit 1; }

command -v podman >/dev/null || { echo "skipped: there is no podman"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf --one-file-system "$folder"' EXIT
export HOME=$folder
PATH=$source_dir/tests/docs/containers:$PATH
cd "$folder"
podman import --quiet "$root_tar" debian:12-slim >import.log 2>&1 && podman run --rm --network=none debian:12-slim true >run.log 2>&1 ||
  { echo "skipped: podman runs no container here: $(cat import.log run.log)"; exit 77; }
mkdir -p packaging build/deb
cp -R "$source_dir/packaging/container" packaging
cp "$@" build/deb
block=$(sed -n '/^packaging\/build-deb.sh$/,/^```$/p' "$source_dir/docs/containers.md" | grep '^podman ') || fail "docs/containers.md has no such block"
[ "$(grep -c . <<<"$block")" = 2 ] || fail "docs/containers.md says more than to build and to run: $block"
bash -ec "$block" >out 2>&1 || { tail -40 out; fail "what docs/containers.md says of an image"; }
grep -q '^The solution is right.$' out || { tail -40 out; fail "the image does not run its solver"; }
