! SPDX-License-Identifier: Apache-2.0
! Sizes that change between writes, and one that may not: tests/support/varying_sizes.py says which statuses it prints.
program varying
  use leat
  use, intrinsic :: iso_fortran_env
  implicit none
  integer, parameter :: sizes(3) = [4, 2, 6]
  integer :: step, n, i, stat(6)
  real(real64) :: u(6), w(5)
  call leat_init("varying.xml")
  do step = 1, 3
    n = sizes(step)
    u(1:n) = [(n + 0.1_real64 * (i - 1), i = 1, n)]
    call leat_set_int("n", n)
    call leat_write("u", u(1:n))
    w = [(real(step - 2 + i, real64), i = 1, 5)]
    if (step == 1) call leat_write("w", w(1:3))
    if (step == 2) then
      call leat_set_int("m", 5, stat=stat(1))
      call leat_write("w", w(1:3), stat=stat(2))
      call leat_write("w", w(1:5), stat=stat(3))
      call leat_set_int("m", 3, stat=stat(4))
      call leat_write("w", w(1:3), stat=stat(5))
    end if
    call leat_end_iteration()
  end do
  call leat_finalize(stat=stat(6))
  print '(6(i0, 1x))', stat
end program
