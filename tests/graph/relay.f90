! SPDX-License-Identifier: Apache-2.0
! A module in Fortran that puts what has come at "in" as it is: all bits, with its unit and other names of its dimensions, and
! beside it a part of it that is not contiguous.
program relay
  use leat_module
  implicit none
  real(real64), pointer :: in(:,:), out(:,:)
  type(leat_description) :: what
  do while (leat_wait())
    call leat_get("in", in)
    call leat_describe("in", 1, what)
    call leat_put_memory(out, shape(in))
    out = in
    call leat_put("out", out, unit=what%unit, names=["inner", "outer"])
    call leat_put("every_second", in(1::2, :), names=["inner", "outer"])
    call leat_put("count", size(in))
  end do
end program
