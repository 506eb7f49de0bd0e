! SPDX-License-Identifier: Apache-2.0
! rows.c in Fortran.
program rows
  use mpi
  use damaris
  implicit none
  integer :: is_client, rank, size, step, i, comm, ierr
  real(8) :: row(10)
  integer(8) :: position(2)
  call MPI_Init(ierr)
  call damaris_initialize_f("rows.xml", MPI_COMM_WORLD, ierr)
  if (ierr /= 0) stop 1
  call damaris_start_f(is_client, ierr)
  if (is_client > 0) then
    call damaris_client_comm_get_f(comm, ierr)
    call MPI_Comm_rank(comm, rank, ierr)
    call MPI_Comm_size(comm, size, ierr)
    call damaris_parameter_set_f("size", size, 4, ierr)
    position = [rank, 0]
    call damaris_set_position_f("u", position, ierr)
    do step = 0, 2
      row = [(100d0 * step + 10 * rank + i, i = 0, 9)]
      call damaris_write_f("u", row, ierr)
      if (ierr /= 0) stop 2
      call damaris_end_iteration_f(ierr)
    end do
    call damaris_stop_f(ierr)
  end if
  call damaris_finalize_f(ierr)
  if (ierr /= 0) stop 3
  call MPI_Finalize(ierr)
end program
