# SPDX-License-Identifier: Apache-2.0
"""Several parameters and several arrays in one line, in each language that can: leat_set_doubles, leat_write_all, leat_read_all."""
import subprocess

import h5py
import pytest
from leat_run import LIMIT
from test_calls import build, environment

XML = """<simulation name="calls"><architecture><buffer size="8MiB"/></architecture><data>
<time parameter="t"/><parameter name="dx" type="double"/><parameter name="n" type="int"/>
<mesh name="line" type="uniform" origin="0.5" spacing="dx"/>
<variable name="u,v" mesh="line" type="double" dimensions="3" global="3" store="out,checkpoint"/>
<variable name="w" type="float" dimensions="2,3" store="out"/>
</data><storage><store name="out" type="hdf5"/><store name="checkpoint" type="checkpoint"/></storage></simulation>"""
PROGRAMS = {
    "c": """
#include <leat.h>
#include <stdio.h>
int main(void) {
  const double u[] = {1, 2, 3}, v[] = {4, 5, 6}, values[] = {2.5, 0.25};
  const float w[2][3] = {{7, 8, 9}, {10, 11, 12}};
  leat_init("calls.xml");
  printf("%s\\n", leat_status_name(leat_set_doubles("t, dx", values)));
  printf("%s\\n", leat_status_name(leat_set_doubles("t,n", values)));
  leat_write("u", u);
  leat_write("v", v);
  leat_write("w", w);
  leat_finalize();
}
""",
    "cpp": """
#include <leat.hpp>
#include <array>
#include <cstdio>
#include <vector>
struct Rows {
  float values[6] = {7, 8, 9, 10, 11, 12};
  const float* data_handle() const { return values; }
  static constexpr std::size_t rank() { return 2; }
  int extent(std::size_t d) const { return d == 0 ? 2 : 3; }
  int stride(std::size_t d) const { return d == 0 ? 3 : 1; }
};
template <class Call>
void refused(Call call) {
  try {
    call();
  } catch (const leat::Error& error) {
    std::printf("%s %s\\n", leat_status_name(error.status()), error.what());
  }
}
int main() {
  std::vector<double> u = {1, 2, 3};
  std::array<double, 3> v = {4, 5, 6};
  leat::Session session("calls.xml");
  std::printf("%s\\n", leat_status_name(leat::set_doubles("t, dx", {2.5, 0.25})));
  refused([] { leat::set_doubles("t,n", {2.5, 0.25}); });
  refused([] { leat::set_doubles("dx,dx", {2.5, 0.5}); });
  std::int64_t step = 0;
  leat::restart_step(step);
  if (step > 0) {
    leat::read_all("u,v", v, u);
    refused([&] { leat::read_all("u,u", u, v); });
    leat::write_all("u,v", u, v);
    return 0;
  }
  refused([&] { leat::write_all("u,x,y,v", u, u, u, v); });
  refused([&] { leat::write_all("u,v", u, v, u); });
  refused([&] { leat::write_all("u, w,u", u, Rows(), v); });
  refused([&] { leat::write_all("u;v", u, v); });
  refused([&] { leat::write_all("u,v", u); });
  refused([&] { leat::write("u,v", u); });
  refused([&] { leat::set_position("u,v", {0}); });
  std::printf("%s\\n", leat_status_name(leat::write_all("u,v, w", u, v, Rows())));
  try { session.finalize(); } catch (const leat::Error&) {}
}
""",
    "f90": """
program calls
  use leat
  implicit none
  real(8) :: u(3) = [1d0, 2d0, 3d0], v(6) = [4d0, 0d0, 5d0, 0d0, 6d0, 0d0]
  real(4) :: w(3, 2) = reshape([7., 8., 9., 10., 11., 12.], [3, 2])
  integer :: stat, step
  character(400) :: why
  call leat_init("calls.xml")
  call leat_set_doubles("t, dx", [2.5, 0.25], stat)
  print "(a)", leat_status_name(stat)
  call leat_set_doubles("t,n", [2.5d0, 0.25d0], stat, why)
  print "(a,1x,a)", leat_status_name(stat), trim(why)
  call leat_set_doubles("dx,dx", [2.5d0, 0.5d0], stat, why)
  print "(a,1x,a)", leat_status_name(stat), trim(why)
  call leat_restart_step(step)
  if (step > 0) then
    call leat_read_all("u,v", v(::2), u)
    call leat_read_all("u,u", u, v(::2), stat=stat, errmsg=why)
    print "(a,1x,a)", leat_status_name(stat), trim(why)
    call leat_write_all("u,v", u, v(::2))
    call leat_finalize()
    stop
  end if
  call leat_write_all("u,x,y,v", u, u, u, v(::2), stat=stat, errmsg=why)
  print "(a,1x,a)", leat_status_name(stat), trim(why)
  call leat_write_all("u,v", u, v(::2), u, stat=stat, errmsg=why)
  print "(a,1x,a)", leat_status_name(stat), trim(why)
  call leat_write_all("u, w,u", u, w, v(::2), stat=stat, errmsg=why)
  print "(a,1x,a)", leat_status_name(stat), trim(why)
  call leat_write_all("u;v", u, v(::2), stat=stat, errmsg=why)
  print "(a,1x,a)", leat_status_name(stat), trim(why)
  call leat_write_all("u,v", u, stat=stat, errmsg=why)
  print "(a,1x,a)", leat_status_name(stat), trim(why)
  call leat_write("u,v", u, stat=stat, errmsg=why)
  print "(a,1x,a)", leat_status_name(stat), trim(why)
  call leat_set_position("u,v", [1], stat=stat, errmsg=why)
  print "(a,1x,a)", leat_status_name(stat), trim(why)
  call leat_write_all("u,v, w", u, v(::2), w, stat=stat)
  print "(a)", leat_status_name(stat)
  call leat_finalize(stat=stat)
end program
""",
    "py": """
import leat
import numpy as np
def refused(call):
    try:
        call()
    except leat.Error as error:
        print(error.status, error)
u, v, w = np.array([1., 2, 3]), np.array([4., 0, 5, 0, 6, 0])[::2], np.arange(7, 13, dtype="f4").reshape(2, 3)
leat.init("calls.xml")
leat.set_doubles("t, dx", [2.5, 0.25])
print("LEAT_OK")
refused(lambda: leat.set_doubles("t,n", [2.5, 0.25]))
refused(lambda: leat.set_doubles("dx,dx", [2.5, 0.5]))
if (leat.restart_step() or 0) > 0:
    leat.read_all("u,v", v, u)
    refused(lambda: leat.read_all("u,u", u, v))
    leat.write_all("u,v", u, v)
    leat.finalize()
    raise SystemExit
refused(lambda: leat.write_all("u,x,y,v", u, u, u, v))
refused(lambda: leat.write_all("u,v", u, v, u))
refused(lambda: leat.write_all("u, w,u", u, w, v))
refused(lambda: leat.write_all("u;v", u, v))
refused(lambda: leat.write_all("u,v", u))
refused(lambda: leat.write("u,v", u))
refused(lambda: leat.set_position("u,v", [0]))
leat.write_all("u,v, w", u, v, w)
print("LEAT_OK")
try:
    leat.finalize()
except leat.Error:
    pass
"""}


ARGUMENT, UNKNOWN = "LEAT_ERROR_ARGUMENT", "LEAT_ERROR_UNKNOWN_NAME"
SAID = [  # of what is refused, in the programs' order
    (ARGUMENT, 'leat_set_doubles: "dx,dx" names "dx" twice: each parameter has one value'),
    (UNKNOWN, 'leat_write_all: calls.xml declares no variable "x"'),  # the first error, and v was written all the same
    (ARGUMENT, 'leat_write_all: "u,v" names 2 variables, and there are 3 arrays'),
    (ARGUMENT, 'leat_write_all: "u, w,u" names "u" twice: each variable has one array'),
    (ARGUMENT, '"u;v" names 1 variable, and there are 2 arrays; commas separate names, like "a,b"'),
    (ARGUMENT, '"u,v" names 2 variables, and there is 1 array'),
    (UNKNOWN, "; leat_write takes one variable, and leat_write_all of C++, Fortran and Python several"),
    (UNKNOWN, "; leat_set_position takes one variable")]


@pytest.mark.parametrize("language", PROGRAMS)
def test_in_each_language(tmp_path, language):
    (tmp_path / "calls.xml").write_text(XML)
    command = build(language, tmp_path, PROGRAMS[language])

    def run():
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT, env=environment(tmp_path))
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()
    said = run()
    assert said[0] == "LEAT_OK" and said[1].startswith("LEAT_ERROR_TYPE")
    if language != "c":
        for line, (status, text) in zip(said[2:], SAID, strict=False):
            assert line.startswith(status) and text in line
        assert said[2 + len(SAID)] == "LEAT_OK"
    with h5py.File(tmp_path / "calls.h5") as file:
        assert file["time"][:].tolist() == [2.5] and file["w"][0].tolist() == [[7, 8, 9], [10, 11, 12]]
        assert file["u"][:].tolist() == [[1, 2, 3]] and file["v"][:].tolist() == [[4, 5, 6]]
    if language == "c":
        return
    (tmp_path / "calls.h5").unlink()
    said = run()  # goes on, and has read one into the other
    assert said[-1].startswith("LEAT_ERROR_ARGUMENT") and 'leat_read_all: "u,u" names "u" twice: each variable has one array' in said[-1]
    with h5py.File(tmp_path / "calls.h5") as file:
        assert file["iteration"][:].tolist() == [1]
        assert file["u"][:].tolist() == [[4, 5, 6]] and file["v"][:].tolist() == [[1, 2, 3]]
