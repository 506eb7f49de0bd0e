! SPDX-License-Identifier: Apache-2.0
! OpenMP threads of one process write blocks of one variable at once, many times over.
program threads
  use leat
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none
  integer(int64) :: values(8)
  integer :: block, round, stat
  call leat_init("threads.xml", stat)
  if (stat /= 0) error stop 1
  do round = 1, 20
    !$omp parallel do private(values) num_threads(4) schedule(dynamic)
    do block = 0, 15
      values = 100 * round + block
      call leat_write("blocks", values, block)
    end do
    !$omp end parallel do
    call leat_end_iteration()
  end do
  call leat_finalize(stat)
  if (stat /= 0) error stop 2
end program
