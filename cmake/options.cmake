# SPDX-License-Identifier: Apache-2.0
# The parts that may be left out; docs/how-to/build.md has them.
include(CMakeDependentOption)
option(LEAT_HDF5 "The hdf5 store, and the commands that look into its files" ON)
option(LEAT_PYTHON "Analysis scripts in Python, and the pure part of the package leat" ON)
option(LEAT_FORTRAN "libleat_fortran and the module leat" ON)
option(LEAT_DAMARIS "libdamaris: the calls of Damaris, with the MPI that is found" ON)
option(LEAT_STRIP "Install programs and libraries without debug information, which is kept in files of its own" ON)
option(LEAT_UNITY "Compile several sources of a target as one: quick from nothing, slow after a change of one" OFF)
set(CMAKE_UNITY_BUILD ${LEAT_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)
set(LEAT_ONLY "" CACHE STRING "Whatever other options say: \"demo\", what `make demo` runs; \"products\", what is installed; or all")
# They test all parts together.
cmake_dependent_option(LEAT_TESTS "Tests, benches and examples" ON "BUILD_TESTING;LEAT_HDF5;LEAT_PYTHON;LEAT_FORTRAN;LEAT_DAMARIS" OFF)
if(LEAT_ONLY)
  set(LEAT_TESTS OFF)
endif()
if(LEAT_ONLY STREQUAL "demo")
  set(LEAT_FORTRAN OFF)
  set(LEAT_DAMARIS OFF)
endif()

if(LEAT_FORTRAN)
  include(CheckLanguage)
  check_language(Fortran)
  leat_found("A Fortran compiler" "${CMAKE_Fortran_COMPILER}" gfortran libleat_fortran LEAT_FORTRAN)
  enable_language(Fortran)
  # Texts come to C by descriptors: Fortran 2018, 18.3.6.
  include(CheckSourceCompiles)
  check_source_compiles(Fortran "program texts
    interface
      subroutine call_c(text) bind(C)
        use, intrinsic :: iso_c_binding, only: c_char
        character(kind=c_char, len=*), intent(in) :: text
      end subroutine
    end interface
  end program" LEAT_FORTRAN_TEXTS SRC_EXT f90)
  if(NOT LEAT_FORTRAN_TEXTS)
    message(FATAL_ERROR "${CMAKE_Fortran_COMPILER} cannot give texts of any length to C, as Fortran 2018 does: libleat_fortran needs "
      "gfortran 12 or newer. -DCMAKE_Fortran_COMPILER=<one> names one, in a new build folder. -DLEAT_FORTRAN=OFF builds Leat without it.")
  endif()
endif()
