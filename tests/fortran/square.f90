! SPDX-License-Identifier: Apache-2.0
! One of two ranks: u(i, k) of 4 x 4, the last i of which is a ghost; each has four of eight k.
program square
  use leat
  use, intrinsic :: iso_fortran_env
  implicit none
  real(real64) :: u(4, 4)
  integer :: rank, i, k
  character(8) :: word
  call get_command_argument(1, word)
  read (word, *) rank
  do k = 1, 4
    do i = 1, 4
      u(i, k) = 10 * i + 4 * rank + k
    end do
  end do
  call leat_init_ranks("square.xml", rank, 2, rank, 2, "square")
  call leat_set_position("u", [1, 4 * rank + 1])
  call leat_write("u", u)
  call leat_end_iteration()
  call leat_finalize()
end program
