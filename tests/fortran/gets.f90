! SPDX-License-Identifier: Apache-2.0
! With LEAT=off: a code's own values stay, and it computes in an array of its own.
program gets
  use leat
  implicit none
  integer :: n = 7
  double precision :: dt = 0.25d0
  character(8) :: title = "mine"
  integer :: stat
  real(8), target :: own(3, 2)
  real(8), pointer :: p(:, :)
  call leat_init("no such file")
  call leat_get("n", n, stat)
  if (stat /= LEAT_OK .or. n /= 7) error stop 3
  call leat_get("dt", dt)
  call leat_get("title", title)
  if (abs(dt - 0.25d0) > 0 .or. title /= "mine") error stop 4
  p => own
  call leat_alloc("u", p, stat=stat)
  if (stat /= LEAT_UNWANTED .or. associated(p)) error stop 5
  call leat_alloc("u", p)
  if (.not. associated(p)) p => own
  p = 1d0
  call leat_commit("u", stat=stat)
  if (stat /= LEAT_OK .or. abs(sum(own) - 6d0) > 0) error stop 6
  call leat_finalize()
end program
