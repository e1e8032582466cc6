#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What conda-build calls: into its environment.
set -euo pipefail
cmake -S . -B build -G Ninja ${CMAKE_ARGS:-} -DCMAKE_INSTALL_PREFIX="$PREFIX" -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_TESTING=OFF
cmake --build build
cmake --install build
