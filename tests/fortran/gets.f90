! SPDX-License-Identifier: Apache-2.0
! With LEAT=off: a code's own values stay.
program gets
  use leat
  implicit none
  integer :: n = 7
  double precision :: dt = 0.25d0
  character(8) :: title = "mine"
  integer :: stat
  call leat_init("no such file")
  call leat_get("n", n, stat)
  if (stat /= LEAT_OK .or. n /= 7) error stop 3
  call leat_get("dt", dt)
  call leat_get("title", title)
  if (abs(dt - 0.25d0) > 0 .or. title /= "mine") error stop 4
  call leat_finalize()
end program
