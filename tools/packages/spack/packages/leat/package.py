# SPDX-License-Identifier: Apache-2.0
"""Spack's recipe for Leat: builds the sources that this file is in, or those of SPACK_LEAT_GIT. No version is published yet, so there is
`main` alone. Not run by us, where there is no Spack. A test compares it with the options of CMake and with what Leat needs."""
import os
import pathlib

from spack.package import conflicts, depends_on, license, variant, version
from spack_repo.builtin.build_systems.cmake import CMakePackage, generator


class Leat(CMakePackage):
    """Stores and analyses what a simulation puts out, while the simulation computes on."""

    homepage = "file://" + str(pathlib.Path(__file__).parents[4])
    git = os.environ.get("SPACK_LEAT_GIT", homepage)

    license("Apache-2.0")

    version("main", branch="main")

    variant("hdf5", default=True, description="The hdf5 store")
    variant("python", default=True, description="Scripts in Python, and the commands that read files")
    variant("fortran", default=True, description="The Fortran module")
    # The one part that is built with an MPI: all others serve each.
    variant("damaris", default=False, description="libdamaris, the calls of Damaris")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("xerces-c@3.2:")
    depends_on("muparser@2.3:")
    depends_on("udunits@2.2:")
    depends_on("openssl@3:")
    depends_on("numactl@2:")
    depends_on("fmt@9:")
    depends_on("ncurses@6:")
    depends_on("boost@1.74:", type="build")
    depends_on("cli11@2.1:", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("hdf5@1.10: +hl~mpi", when="+hdf5")
    depends_on("python@3.9:", type=("build", "run"))
    depends_on("py-numpy", type="run", when="+python")
    depends_on("py-h5py", type="run", when="+python+hdf5")
    depends_on("mpi", when="+damaris")

    conflicts("platform=darwin", msg="Leat needs Linux")
    conflicts("%gcc@:10", msg="Leat was tried with GCC 11 and newer")
    conflicts("%gcc@:11", when="+fortran", msg="libleat_fortran needs gfortran 12")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define("LEAT_TESTS", False),
            self.define_from_variant("LEAT_HDF5", "hdf5"),
            self.define_from_variant("LEAT_PYTHON", "python"),
            self.define_from_variant("LEAT_FORTRAN", "fortran"),
            self.define_from_variant("LEAT_DAMARIS", "damaris"),
        ]
