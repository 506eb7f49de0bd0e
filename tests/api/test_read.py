# SPDX-License-Identifier: Apache-2.0
"""leat_restart_step and leat_read in each compiled language: the first start of a program writes, the second one reads."""
import subprocess

import pytest
from leat_run import LIMIT
from test_calls import build, environment

XML = """<simulation name="calls"><architecture><buffer size="8MiB"/></architecture><data>
<parameter name="t" type="double"/><layout name="cells" type="double" dimensions="2,3" global="4,3"/>
<group name="checkpoint" keep="1"><variable name="u" layout="cells"/></group></data></simulation>"""
PROGRAMS = {
    "c": """
#include <leat.h>
#include <stdio.h>
int main(void) {
  double u[2][3], t = -1, *flat = &u[0][0];
  float wrong[6];
  int64_t step = 0, at[] = {0, 0};
  leat_init("calls.xml");
  printf("%s", leat_status_name(leat_restart_step(&step)));
  printf(" %d\\n", (int)step);
  for (int block = 0; block < 2; ++block) {
    at[0] = 2 * block;
    leat_set_position("checkpoint/u", (uint32_t)block, at);
    for (int i = 0; i < 6; ++i) flat[i] = 10 * block + i;
    if (step == 0) leat_write_block("checkpoint/u", (uint32_t)block, u);
  }
  if (step == 0) leat_set_double("t", 0.5);
  if (step > 0) {
    leat_get_double("t", &t);
    at[0] = 1;
    leat_set_position("checkpoint/u", 0, at);
    printf("%s", leat_status_name(leat_read("checkpoint/u", u)));
    for (int i = 0; i < 6; ++i) printf(" %g", flat[i]);
    printf(" %g %s", t, leat_status_name(leat_read("checkpoint/u", wrong)));
    printf(" %s\\n", leat_status_name(leat_read_block("checkpoint/u", 0, flat)));
  }
  printf("%s\\n", leat_status_name(leat_finalize()));
}
""",
    "cpp": """
#include <leat.hpp>
#include <cstdio>
#include <vector>
int main() {
  std::vector<double> u(6);
  double t = -1;
  leat::Session session("calls.xml");
  std::int64_t step = 0;
  std::printf("%s", leat_status_name(leat::restart_step(step)));
  std::printf(" %d\\n", static_cast<int>(step));
  for (std::uint32_t block = 0; block < 2; ++block) {
    leat::set_position("checkpoint/u", {2 * block, 0}, block);
    for (int i = 0; i < 6; ++i) u[static_cast<std::size_t>(i)] = 10.0 * block + i;
    if (step == 0) leat::write("checkpoint/u", u.data(), {2, 3}, block);
  }
  if (step == 0) leat::set("t", 0.5);
  if (step > 0) {
    leat::get("t", t);
    leat::set_position("checkpoint/u", {1, 0});
    std::printf("%s", leat_status_name(leat::read("checkpoint/u", u.data(), {2, 3})));
    for (const double each : u) std::printf(" %g", each);
    std::vector<float> wrong(6);
    try {
      leat::read("checkpoint/u", wrong.data(), {2, 3});
    } catch (const leat::Error& error) {
      std::printf(" %g %s", t, leat_status_name(error.status()));
    }
    double rows[2][3];
    std::printf(" %s\\n", leat_status_name(leat_read("checkpoint/u", rows)));
  }
  std::printf("%s\\n", leat_status_name(session.finalize()));
}
""",
    "f90": """
program main
  use leat
  implicit none
  integer :: stat, block, step
  real(8) :: u(6, 4), t
  real(4) :: wrong(3, 2)
  call leat_init("calls.xml")
  step = 0
  call leat_restart_step(step, stat)
  print "(a,1x,i0)", leat_status_name(stat), step
  do block = 0, 1
    call leat_set_position("checkpoint/u", [1, 2 * block + 1], block)
    if (step == 0) call leat_write("checkpoint/u", reshape(10 * block + [0.d0, 1.d0, 2.d0, 3.d0, 4.d0, 5.d0], [3, 2]), block)
  end do
  t = -1
  if (step == 0) call leat_set_double("t", 0.5d0)
  if (step > 0) then
    u = -1
    call leat_get("t", t)
    call leat_set_position("checkpoint/u", [1, 2])
    call leat_read("checkpoint/u", u(1:6:2, 2:4:2), stat=stat)
    write (*, "(a,6(1x,i0),1x,f3.1)", advance="no") leat_status_name(stat), int(u(1:6:2, 2:4:2)), t
    call leat_read("checkpoint/u", wrong, stat=stat)
    write (*, "(1x,a)", advance="no") leat_status_name(stat)
    print "(1x,a,1x,l1)", "LEAT_OK", all(int(u(2:6:2, :)) == -1) .and. all(int(u(:, 1:3:2)) == -1)
  end if
  call leat_finalize(stat)
  print "(a)", leat_status_name(stat)
end program
"""}
TAIL = {"f90": " T"}


@pytest.mark.parametrize("language", PROGRAMS)
def test_the_second_start_reads_what_the_first_has_written(tmp_path, language):
    (tmp_path / "calls.xml").write_text(XML)
    command = build(language, tmp_path, PROGRAMS[language])
    said = [subprocess.run(command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=LIMIT)
            for _ in range(2)]
    assert said[0].stdout == "LEAT_OK 0\nLEAT_OK\n", said[0]
    t = "0.5"
    assert said[1].stdout == ("LEAT_OK 1\nLEAT_OK 3 4 5 10 11 12 " + t + " LEAT_ERROR_TYPE LEAT_OK" + TAIL.get(language, "")
                              + "\nLEAT_OK\n"), said[1]


@pytest.mark.parametrize("language, there, here", [("cpp", "(4, 3)", "(5, 3)"), ("f90", "(3, 4)", "(3, 5)")])
def test_extents_that_do_not_fit_are_in_the_order_of_the_language(tmp_path, language, there, here):
    command = build(language, tmp_path, PROGRAMS[language])
    for rows in (4, 5):
        (tmp_path / "calls.xml").write_text(XML.replace("4,3", f"{rows},3"))
        done = subprocess.run(command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=LIMIT)
    assert f'has "checkpoint/u" as a global array of {there}, and this run has one of {here}' in done.stderr, done.stderr


KINDS = {"integer(1)": "int8", "integer(2)": "int16", "integer(4)": "int", "integer(8)": "long", "real(4)": "float", "real(8)": "double",
         "complex(4)": "complex64", "complex(8)": "complex128", "logical(4)": "int", "character(1)": "char", "character(5)": "char"}
FILLED = {"logical(4)": "mod(i, 3) == 0", "character(1)": "achar(65 + mod(i, 26))", "character(5)": "repeat(achar(65 + mod(i, 26)), 5)"}


def one_of_each(kind, rank):
    """Fortran that writes a section of an array of this kind and rank, or reads it into one and compares."""
    name = f"v{list(KINDS).index(kind)}_{rank}"
    value = FILLED.get(kind, f"{'cmplx' if 'complex' in kind else 'int' if 'int' in kind else 'real'}(mod(i, 100), kind={kind[-2]})")
    if not rank:
        return (f"  block\n    {kind} :: a, b\n    integer :: i\n    i = 7\n    a = {value}\n    i = 8\n    b = {value}\n"
                f'    if (step == 0) call leat_write("checkpoint/{name}", a)\n'
                f'    if (step > 0) call leat_read("checkpoint/{name}", b)\n'
                f'    if (step > 0) call check(a {equal(kind)} b, "{name}")\n  end block\n')
    shape = ",".join(["5", "2", "3", "1", "2", "1", "2"][:rank])
    section = ",".join(["1:5:2", "2:1:-1", "2:3", "1:1", "1:2", "1:1", "2:1:-1"][:rank])
    return (f"  block\n    {kind}, allocatable :: flat(:), a({','.join(':' * rank)}), b({','.join(':' * rank)})\n    integer :: i\n"
            f"    allocate(flat(product([{shape}])), a({shape}), b({shape}))\n"
            f"    do i = 1, size(flat)\n      flat(i) = {value}\n    end do\n    a = reshape(flat, [{shape}])\n"
            f"    i = 50\n    b = {value}\n"
            f'    if (step == 0) call leat_write("checkpoint/{name}", a({section}))\n'
            f'    if (step > 0) then\n      call leat_read("checkpoint/{name}", b({section}))\n'
            f'      call check(all(b({section}) {equal(kind)} a({section})), "{name}")\n'
            f'      b({section}) = {value}\n      call check(all(b {equal(kind)} {value}), "{name}")\n    end if\n  end block\n')


AROUND = """program main
  use leat
  implicit none
  integer(8) :: step = 0
  integer :: bad = 0
  call leat_init("calls.xml")
  call leat_restart_step(step)
BLOCKS  call leat_finalize()
  print "(i0,1x,i0)", step, bad
contains
  subroutine check(good, name)
    logical, intent(in) :: good
    character(*), intent(in) :: name
    if (good) return
    bad = bad + 1
    print "(a)", name
  end subroutine
end program
"""


def equal(kind):
    return ".eqv." if "logical" in kind else "=="


def extents(kind, rank):
    letters = ["5"] if kind == "character(5)" else []
    return ",".join((letters + ["3", "2", "2", "1", "2", "1", "2"][:rank])[::-1])


def test_fortran_reads_sections_of_all_kinds_and_ranks(tmp_path):
    pairs = [(kind, rank) for kind in KINDS for rank in range(8)]
    layouts = "".join(f'<layout name="l{list(KINDS).index(k)}_{r}" type="{KINDS[k]}" dimensions="{extents(k, r)}"/>' for k, r in pairs)
    variables = "".join(f'<variable name="v{list(KINDS).index(k)}_{r}" layout="l{list(KINDS).index(k)}_{r}"/>' for k, r in pairs)
    (tmp_path / "calls.xml").write_text(XML.replace("<parameter", layouts + "<parameter")
                                        .replace("</group>", variables + "</group>"))
    program = AROUND.replace("BLOCKS", "".join(one_of_each(kind, rank) for kind, rank in pairs))
    command = build("f90", tmp_path, program)
    for wanted in ("0 0\n", "1 0\n"):
        done = subprocess.run(command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=LIMIT)
        assert done.stdout == wanted and "error" not in done.stderr, done
