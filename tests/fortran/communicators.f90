! SPDX-License-Identifier: Apache-2.0
! leat_init_mpi takes type(MPI_Comm) and the integers of older codes, and any communicator.
program communicators
  use leat
  use leat_mpi
  use mpi_f08
  implicit none
  type(MPI_Comm) :: half
  integer :: rank, stat
  real(8) :: u(3)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half)
  u = rank
  if (mod(rank, 2) == 0) then
    call leat_init_mpi("even.xml", half, stat)
  else
    call leat_init_mpi("odd.xml", half%MPI_VAL, stat)
  end if
  if (stat /= 0) error stop 1
  call leat_write("u", u)
  call leat_end_iteration()
  call leat_finalize(stat)
  if (stat /= 0) error stop 2
  call MPI_Finalize()
end program
