# SPDX-License-Identifier: BSD-3-Clause
# Cross-compiles for aarch64 against a root of that architecture, named by AARCH64_SYSROOT, with the build's packages
# unpacked in it (sysroot.sh makes one); its tests run under qemu's user mode.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(root $ENV{AARCH64_SYSROOT})
set(CMAKE_SYSROOT ${root})
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
find_program(cross_fortran aarch64-linux-gnu-gfortran) # else Fortran is left out, and this machine's own not taken for it
set(CMAKE_Fortran_COMPILER ${cross_fortran})
set(CMAKE_FIND_ROOT_PATH ${root})
# The distribution's cross compiler does not name its multiarch folder to CMake, which looks for packages there.
set(CMAKE_PREFIX_PATH /usr/lib/aarch64-linux-gnu/cmake)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${root})
set(ENV{PKG_CONFIG_LIBDIR} ${root}/usr/lib/aarch64-linux-gnu/pkgconfig:${root}/usr/share/pkgconfig)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${root})
