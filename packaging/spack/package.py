# SPDX-License-Identifier: BSD-3-Clause
# A recipe for Spack: as packages/tutti/package.py in a repository of packages. Sources have no address yet, and the one below
# is to be replaced by that of a clone.
import re

from spack.package import *


class Tutti(CMakePackage):
    """An MPI that names what is wrong: launcher, library and compiler wrappers, with the standard ABI of MPI 5.0."""

    homepage = "https://tutti.invalid/"
    git = "https://tutti.invalid/tutti.git"

    license("BSD-3-Clause")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    # What `spack external find` calls, and asks for its version below.
    executables = ["^tutti$"]

    variant("fortran", default=True, description="Library and modules for the Fortran compiler")

    provides("mpi@:5.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("ucx@1.13:")
    depends_on("pmix@4.2:")
    depends_on("hwloc@2.8:")
    depends_on("libevent")
    depends_on("yaml-cpp@0.7:")
    depends_on("fmt@9:")
    depends_on("elfutils")

    conflicts("%gcc@:11", msg="Tutti is written in C++20, of which these know too little")
    conflicts("platform=darwin")
    conflicts("platform=windows")

    generator("ninja")

    @classmethod
    def determine_version(cls, exe):
        output = Executable(exe)("--version", output=str, error=str)
        match = re.match(r"tutti (\d+\.\d+\.\d+)\s*$", output)
        return match.group(1) if match else None

    def cmake_args(self):
        return [self.define("BUILD_TESTING", False), self.define_from_variant("TUTTI_FORTRAN", "fortran")]

    def setup_run_environment(self, env):
        for variable, wrapper in (("MPICC", "mpicc"), ("MPICXX", "mpicxx"), ("MPIF77", "mpif77"), ("MPIF90", "mpif90")):
            env.set(variable, join_path(self.prefix.bin, wrapper))

    # The wrappers call Spack's compilers.
    def setup_dependent_build_environment(self, env, dependent_spec):
        self.setup_run_environment(env)
        compilers = dependent_spec.package.module
        env.set("TUTTI_CC", compilers.spack_cc)
        env.set("TUTTI_CXX", compilers.spack_cxx)
        env.set("TUTTI_FC", compilers.spack_fc)

    def setup_dependent_package(self, module, dependent_spec):
        self.spec.mpicc = join_path(self.prefix.bin, "mpicc")
        self.spec.mpicxx = join_path(self.prefix.bin, "mpicxx")
        self.spec.mpif77 = join_path(self.prefix.bin, "mpif77")
        self.spec.mpifc = join_path(self.prefix.bin, "mpif90")
