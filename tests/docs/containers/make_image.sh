#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# make_image.sh: makes the image tutti, whose programs and libraries are the machine's (see podman beside this file), and
# runs a container of it. Where that fails, it says why.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(mktemp -d)
trap 'rm -r "$root"' EXIT
cd "$root"
mkdir -p usr etc proc sys dev tmp run
chmod 1777 tmp
for folder in bin sbin lib lib64; do ln -s usr/$folder $folder; done
cp /etc/ld.so.cache /etc/passwd /etc/group etc
installation=$(cd "$(dirname "$(command -v mpirun)")/.." && pwd -P)
tar -c . | "$here/podman" import --quiet --change "ENV PATH=$installation/bin:/usr/bin" - tutti >/dev/null
"$here/podman" run --rm --network=none tutti true
