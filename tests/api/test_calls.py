# SPDX-License-Identifier: Apache-2.0
"""Calls that are made of client-api/api/calls.def, in each language: the same program, the same answers and the same file."""
import os
import pathlib
import shutil
import subprocess
import sys

import h5py
import pytest
from leat_run import BUILD, LIMIT

ROOT = pathlib.Path(__file__).resolve().parents[2]
API = ROOT / "client-api/api"
XML = """<simulation name="calls"><architecture><buffer size="8MiB"/></architecture><data>
<layout name="cells" type="double" dimensions="2" global="4"/><variable name="u" layout="cells"/>
</data><storage><store name="out" type="hdf5"/></storage></simulation>"""
# Two blocks: block 1, at cell 2 of the four, and block 0, twice.
PROGRAMS = {
    "c": """
#include <leat.h>
#include <stdio.h>
int main(void) {
  const double low[] = {0, 1}, high[] = {2, 3};
  const int64_t begin[] = {0}, middle[] = {2};
  printf("%s\\n", leat_status_name(leat_init("calls.xml")));
  leat_start_at(7);
  printf("%s\\n", leat_status_name(leat_set_position("u", 1, middle)));
  printf("%s\\n", leat_status_name(leat_set_position("u", 0, begin)));
  leat_write_block("u", 1, high);
  leat_write("u", low);
  leat_write("u", low);
  int64_t count = -7;
  printf("%s", leat_status_name(leat_count("v", &count)));
  printf(" %d %s", (int)count, leat_status_name(leat_count("u", NULL)));
  leat_count("u", &count);
  printf(" %d\\n", (int)count);
  printf("%s", leat_status_name(leat_end_iteration()));
  leat_count("u", &count);
  printf(" %d\\n", (int)count);
  leat_begin_iteration(70);
  printf("%d\\n", (int)leat_iteration());
  leat_write("u", low);
  printf("%s\\n", leat_status_name(leat_finalize()));
}
""",
    "cpp": """
#include <leat.hpp>
#include <cstdio>
#include <vector>
int main() {
  const std::vector<double> low = {0, 1}, high = {2, 3};
  leat::Session session("calls.xml");
  std::printf("%s\\n", leat_status_name(session.status()));
  leat::start_at(7);
  std::printf("%s\\n", leat_status_name(leat::set_position("u", {2}, 1)));
  std::printf("%s\\n", leat_status_name(leat::set_position("u", {0})));
  leat::write("u", high, 1);
  leat::write("u", low);
  leat::write("u", low);
  std::int64_t count = -7;
  try {
    leat::count("v", count);
  } catch (const leat::Error& error) {
    std::printf("%s %d", leat_status_name(error.status()), static_cast<int>(count));
  }
  leat::count("u", count);
  std::printf(" %d\\n", static_cast<int>(count));
  std::printf("%s", leat_status_name(leat::end_iteration()));
  leat::count("u", count);
  std::printf(" %d\\n", static_cast<int>(count));
  leat::begin_iteration(70);
  std::printf("%d\\n", static_cast<int>(leat::iteration()));
  leat::write("u", low);
  std::printf("%s\\n", leat_status_name(session.finalize()));
}
""",
    "f90": """
program main
  use leat
  implicit none
  integer :: stat, count
  integer(8) :: wide
  call leat_init("calls.xml", stat)
  print "(a)", leat_status_name(stat)
  call leat_start_at(7)
  call leat_set_position("u", [3], 1, stat)
  print "(a)", leat_status_name(stat)
  call leat_set_position("u", [1], stat=stat)
  print "(a)", leat_status_name(stat)
  call leat_write("u", [2.d0, 3.d0], 1)
  call leat_write("u", [0.d0, 1.d0])
  call leat_write("u", [0.d0, 1.d0])
  count = -7
  call leat_count("v", count, stat)
  print "(a,1x,i0)", leat_status_name(stat), count
  call leat_count("u", wide)
  print "(i0)", wide
  call leat_end_iteration(stat)
  call leat_count("u", count)
  print "(a,1x,i0)", leat_status_name(stat), count
  call leat_begin_iteration(70)
  print "(i0)", leat_iteration()
  call leat_write("u", [0.d0, 1.d0])
  call leat_finalize(stat)
  print "(a)", leat_status_name(stat)
end program
""",
    "py": """
import leat
leat.init("calls.xml")
print("LEAT_OK")
leat.start_at(7)
leat.set_position("u", [2], 1)
print("LEAT_OK")
leat.set_position("u", [0])
print("LEAT_OK")
leat.write("u", [2., 3.], 1)
leat.write("u", [0., 1.])
leat.write("u", [0., 1.])
try:
    leat.count("v")
except leat.Error as error:
    print(error.status)
print(leat.count("u"))
leat.end_iteration()
print("LEAT_OK", leat.count("u"))
leat.begin_iteration(70)
print(leat.iteration())
leat.write("u", [0., 1.])
leat.finalize()
print("LEAT_OK")
"""}


def sh(*words, cwd):
    done = subprocess.run([str(word) for word in words], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=5 * LIMIT)
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


def python_package(folder):
    """The package leat with its compiled part, against the library that is being tested."""
    shutil.copytree(ROOT / "python-plugins/leat", folder / "leat")
    (folder / "include").mkdir()
    (folder / "include/leat_calls.def").symlink_to(API / "calls.def")
    includes = sh(sys.executable, "-m", "pybind11", "--includes", cwd=folder).split()
    sh("c++", "-std=c++17", "-O0", "-shared", "-fPIC", "-fvisibility=hidden", folder / "leat/_core.cpp", *includes, f"-I{API}",
       f"-I{folder}/include", f"-L{BUILD}/lib", "-lleat", f"-Wl,-rpath,{BUILD}/lib", "-o", folder / "leat/_core.so", cwd=folder)
    return [sys.executable, folder / "calls.py"]


def environment(folder):
    return {**os.environ, "LEAT_RUNTIME_DIR": str(folder / "r")}


def build(language, folder, program=None):
    """How the program is run."""
    source = folder / f"calls.{language}"
    source.write_text(program or PROGRAMS[language])
    link = [f"-L{BUILD}/lib", "-lleat", f"-Wl,-rpath,{BUILD}/lib", "-o", "calls"]
    if language == "py":
        return python_package(folder)
    if language == "f90":
        sh("gfortran", "-Wall", "-Werror", source, f"-I{BUILD}/modules", f"-L{BUILD}/lib", "-lleat_fortran", *link, cwd=folder)
    else:
        compiler = ["cc", "-std=c11"] if language == "c" else ["c++", "-std=c++17"]
        sh(*compiler, "-pedantic-errors", "-Wall", "-Wextra", "-Werror", source, f"-I{API}", *link, cwd=folder)
    return ["./calls"]


@pytest.fixture(scope="module", params=PROGRAMS)
def ran(request, tmp_path_factory):
    """What a program has said, and the file that it has left."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "calls.xml").write_text(XML)
    command = build(request.param, folder)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT, env=environment(folder))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split(), folder / "calls.h5"


def test_the_block_is_the_last_argument_but_in_c(ran):
    said, path = ran
    assert [word for word in said if word == "LEAT_OK"] == 5 * ["LEAT_OK"]
    with h5py.File(path) as file:
        assert file["u"][0].tolist() == [0, 1, 2, 3]


def test_iterations_have_the_numbers_that_were_said(ran):
    assert "70" in ran[0]
    with h5py.File(ran[1]) as file:
        assert file["iteration"][:].tolist() == [7, 70]


def test_blocks_of_the_current_iteration_are_counted_once(ran):
    """Three writes of two blocks, none in the next iteration; nothing is filled in for a variable that is not there."""
    said = [word for word in ran[0] if word not in ("-7", "LEAT_ERROR_ARGUMENT")]
    assert said == [*3 * ["LEAT_OK"], "LEAT_ERROR_UNKNOWN_NAME", "2", "LEAT_OK", "0", "70", "LEAT_OK"]
    assert ran[0].count("-7") == (0 if ran[1].parent.name.startswith("py") else 1)
