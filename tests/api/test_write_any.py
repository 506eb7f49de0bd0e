# SPDX-License-Identifier: Apache-2.0
"""leat_write_any in each language: the same program, the same answers and the same file."""
import subprocess

import h5py
import numpy as np
import pytest
from leat_run import LIMIT
from test_calls import build, environment

XML = """<simulation name="calls"><architecture><buffer size="8MiB"/></architecture><data undeclared="accept">
<layout name="row" type="double" dimensions="?"/><variable name="u" layout="row"/>
</data><storage><store name="out" type="hdf5"/></storage></simulation>"""
# u is declared; v[2][3] and n are not; then u of another type, and v of another shape.
PROGRAMS = {
    "c": """
#include <leat.h>
#include <stdio.h>
int main(void) {
  const double u[] = {0, 1}, v[2][3] = {{0, 1, 2}, {3, 4, 5}};
  const int32_t n = 7;
  const int64_t of_u[] = {2}, of_v[] = {2, 3}, swapped[] = {3, 2};
  leat_init("calls.xml");
  printf("%s\\n", leat_status_name(leat_write_any("u", u, LEAT_TYPE_FLOAT64, 1, of_u)));
  printf("%s\\n", leat_status_name(leat_write_any("v", v, LEAT_TYPE_FLOAT64, 2, of_v)));
  printf("%s\\n", leat_status_name(leat_write_any("n", &n, LEAT_TYPE_INT32, 0, NULL)));
  printf("%s\\n", leat_status_name(leat_write_any("u", &n, LEAT_TYPE_INT32, 1, of_u)));
  printf("%s\\n", leat_status_name(leat_write_any("v", v, LEAT_TYPE_FLOAT64, 2, swapped)));
  if (leat_write_any("v", v, LEAT_TYPE_FLOAT64, 2, NULL) != LEAT_ERROR_ARGUMENT) return 1;
  leat_end_iteration();
  return leat_finalize() != LEAT_ERROR_LOST;
}
""",
    "cpp": """
#include <leat.hpp>
#include <cstdio>
#include <vector>
template <class Call>
void say(Call call) {
  leat_status status;
  try {
    status = call();
  } catch (const leat::Error& error) {
    status = error.status();
  }
  std::printf("%s\\n", leat_status_name(status));
}
int main() {
  const std::vector<double> u = {0, 1}, v = {0, 1, 2, 3, 4, 5};
  const std::vector<int> wrong = {0, 1};
  leat::Session session("calls.xml");
  say([&] { return leat::write_any("u", u); });
  say([&] { return leat::write_any("v", v.data(), {2, 3}); });
  say([&] { return leat::write_any("n", 7); });
  say([&] { return leat::write_any("u", wrong); });
  say([&] { return leat::write_any("v", v.data(), {3, 2}); });
  leat::end_iteration();
  try {
    session.finalize();
  } catch (const leat::Error& error) {
    return error.status() != LEAT_ERROR_LOST;
  }
  return 1;
}
""",
    "f90": """
program main
  use leat
  implicit none
  integer :: stat
  real(8) :: v(3, 2), wide(6, 2)
  v = reshape([0.d0, 1.d0, 2.d0, 3.d0, 4.d0, 5.d0], [3, 2])
  wide = 0
  wide(1:6:2, :) = v
  call leat_init("calls.xml")
  call leat_write_any("u", [0.d0, 1.d0], stat)
  print "(a)", leat_status_name(stat)
  call leat_write_any("v", wide(1:6:2, :), stat)
  print "(a)", leat_status_name(stat)
  call leat_write_any("n", 7, stat)
  print "(a)", leat_status_name(stat)
  call leat_write_any("u", [0, 1], stat)
  print "(a)", leat_status_name(stat)
  call leat_write_any("v", transpose(v), stat)
  print "(a)", leat_status_name(stat)
  call leat_end_iteration()
  call leat_finalize(stat)
  if (stat /= LEAT_ERROR_LOST) stop 1
end program
""",
    "py": """
import leat
import numpy as np
def say(name, array):
    try:
        print("LEAT_OK" if leat.write_any(name, array) else "LEAT_UNWANTED")
    except leat.Error as error:
        print(error.status)
v = np.arange(6.).reshape(2, 3)
leat.init("calls.xml")
say("u", [0., 1.])
say("v", np.asfortranarray(v))
say("n", np.int32(7))
say("u", np.array([0, 1], "i4"))
say("v", v.T)
leat.end_iteration()
try:
    leat.finalize()
    raise SystemExit("nothing is lost?")
except leat.Error as error:
    assert error.status == "LEAT_ERROR_LOST", error
"""}


@pytest.mark.parametrize("language", PROGRAMS)
def test_an_array_says_what_it_is_in_each_language(tmp_path, language):
    (tmp_path / "calls.xml").write_text(XML)
    command = build(language, tmp_path, PROGRAMS[language])
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT, env=environment(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split() == [*3 * ["LEAT_OK"], "LEAT_ERROR_TYPE", "LEAT_ERROR_SHAPE"]
    with h5py.File(tmp_path / "calls.h5") as file:
        group = file["products/undeclared@0"]
        assert file["u"][:].ravel().tolist() == [0, 1] and group["v"].dtype == np.float64 and group["n"].dtype == np.int32
        assert group["v"][0].tolist() == [[0, 1, 2], [3, 4, 5]] and group["n"][0] == 7
    if language == "f90":
        assert 'dimensions="3,2" order="fortran"' in done.stderr and '"v" was double (3, 2) when' in done.stderr
