# SPDX-License-Identifier: Apache-2.0
"""<layout position="i0,0">: where blocks lie is said once, for all variables, by parameters that one call sets; in each language."""
import subprocess

import h5py
import numpy as np
import pytest
from arrays_run import write_arrays
from leat_run import BUILD, LIMIT, Run, data, same_bits, xml
from test_calls import build, environment

XML = """<simulation name="calls"><architecture><buffer size="8MiB"/></architecture><data>
<parameter name="n" type="int"/><parameter name="i0" type="int"/>
<layout name="cells" type="double" dimensions="3,n" global="3,6" position="0,i0"/>
<variable name="u" layout="cells"/><variable name="v" layout="cells"/>
</data><storage><store name="out" type="hdf5"/></storage></simulation>"""
PROGRAMS = {
    "c": """
#include <leat.h>
#include <stdio.h>
int main(void) {
  const double u[6] = {1, 2, 3, 4, 5, 6};
  const int64_t values[] = {2, 3};
  leat_init("calls.xml");
  printf("%s\\n", leat_status_name(leat_set_ints("n, i0", values)));
  printf("%s\\n", leat_status_name(leat_set_ints("n,i1", values)));
  leat_write("u", u);
  leat_write("v", u);
  printf("%s\\n", leat_status_name(leat_write_block("u", 1, u)));
  leat_end_iteration();
  leat_finalize();
}
""",
    "cpp": """
#include <leat.hpp>
#include <cstdio>
#include <vector>
int main() {
  const std::vector<double> u = {1, 2, 3, 4, 5, 6};
  leat::Session session("calls.xml");
  leat::set_ints("n, i0", {2, 3});
  std::printf("LEAT_OK\\n");
  try {
    leat::set_ints("n,i1", {2, 3});
  } catch (const leat::Error& error) {
    std::printf("%s\\n", leat_status_name(error.status()));
  }
  leat::write("u", u.data(), {3, 2});
  leat::write("v", u.data(), {3, 2});
  try {
    leat::write("u", u.data(), {3, 2}, 1);
  } catch (const leat::Error& error) {
    std::printf("%s\\n", leat_status_name(error.status()));
  }
  leat::end_iteration();
  try { session.finalize(); } catch (const leat::Error&) {}
}
""",
    "f90": """
program calls
  use leat
  implicit none
  real(8) :: u(2, 3) = reshape([1d0, 2d0, 3d0, 4d0, 5d0, 6d0], [2, 3])
  integer :: stat
  call leat_init("calls.xml")
  call leat_set_ints("n, i0", [2, 3], stat=stat)
  print *, leat_status_name(stat)
  call leat_set_ints("n,i1", [2, 3], stat=stat)
  print *, leat_status_name(stat)
  call leat_write("u", u)
  call leat_write("v", u)
  call leat_write("u", u, block=1, stat=stat)
  print *, leat_status_name(stat)
  call leat_end_iteration()
  call leat_finalize(stat=stat)
end program
""",
    "py": """
import leat
import numpy as np
u = np.arange(1., 7).reshape(3, 2)
leat.init("calls.xml")
leat.set_ints("n, i0", [2, 3])
print("LEAT_OK")
for names, call in (("n,i1", lambda: leat.set_ints("n,i1", [2, 3])), ("u", lambda: leat.write("u", u, 1))):
    if names == "u":
        leat.write("u", u)
        leat.write("v", u)
    try:
        call()
    except leat.Error as error:
        print(error.status)
leat.end_iteration()
try:
    leat.finalize()
except leat.Error:
    pass
"""}


@pytest.mark.parametrize("language", PROGRAMS)
def test_in_each_language(tmp_path, language):
    (tmp_path / "calls.xml").write_text(XML)
    command = build(language, tmp_path, PROGRAMS[language])
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT, env=environment(tmp_path))
    assert done.stdout.split() == ["LEAT_OK", "LEAT_ERROR_UNKNOWN_NAME", "LEAT_ERROR_SHAPE"], done.stdout + done.stderr
    assert "leat_set_position" in done.stderr  # a second block has no place of its own
    with h5py.File(tmp_path / "calls.h5") as file:
        for name in "uv":
            assert file[name][0][:, 3:5].tolist() == [[1, 2], [3, 4], [5, 6]]


def test_ranks_say_it_by_parameters_and_a_call_says_another(tmp_path):
    whole = np.random.default_rng(2).normal(size=(2, 5, 8))
    text = xml("""<parameter name="i0" type="int"/><layout name="cells" type="double" dimensions="5,4" global="5,8" ghosts="0,1"
      position="0,i0" names="y,x"/><variable name="u" layout="cells"/><variable name="v" layout="cells"/>""")
    ranks = []
    for rank in range(4):
        at = 2 * rank
        arrays = {("=i0", 0): np.array(at), ("v", "position"): np.array([0, 6 - at])}
        for i in range(2):
            arrays["u", i] = np.pad(whole[i], ((0, 0), (1, 1)))[:, at:at + 4]
            arrays["v", i] = arrays["u", i]
        ranks.append(arrays)
    write_arrays(tmp_path, text, ranks)
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["u"][:], whole)
        for rank in range(4):
            assert same_bits(file["v"][:, :, 6 - 2 * rank:8 - 2 * rank], whole[:, :, 2 * rank:2 * rank + 2])


BAD = {'dimensions="4" position="i0"': "there is no global",
       'dimensions="4" global="8" position="i0,0"': "position has 2 items",
       'dimensions="4" global="8" position="j0"': '"j0"',
       'dimensions="4" global="8" position="?"': "position, "}


@pytest.mark.parametrize("layout", BAD)
def test_what_makes_no_sense_is_said(tmp_path, layout):
    made = xml(f'<parameter name="i0" type="int"/><layout name="cells" type="double" {layout}/><variable name="u" layout="cells"/>')
    (tmp_path / "bad.xml").write_text(made)
    done = subprocess.run([BUILD / "bin/leat", "check", "bad.xml"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and BAD[layout] in done.stderr + done.stdout, done.stderr + done.stdout


def test_a_position_outside_is_an_error_of_the_write(tmp_path):
    made = xml("""<parameter name="i0" type="int"/><layout name="cells" type="double" dimensions="4" global="8" position="i0"/>
      <variable name="u" layout="cells"/>""")
    with Run(tmp_path, made, ranks=1) as run:
        (rank,) = run.init()
        assert "needs parameter" in rank.write("u", 32, 1).error
        for value in (5, -1):
            rank.must("set_int", "i0", value)
            answer = rank.write("u", 32, 1)
            assert answer.status == "LEAT_ERROR_SHAPE" and ("does not lie inside" in answer.error or "cannot be negative" in answer.error)
        rank.must("set_int", "i0", 4)
        assert rank.write("u", 32, 1).ok
        rank.end()
        rank.must("set_int", "i0", 0)  # where it lies may change
        assert rank.write("u", 32, 2).ok
        rank.end()
        run.finalize()
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["u"][0][4:], data(4, "f8", 1)) and same_bits(file["u"][1][:4], data(4, "f8", 2))
