! SPDX-License-Identifier: Apache-2.0
! waits.inc with use mpi_f08.
program waits_f08
  use mpi_f08
  implicit none
  integer :: rank, other, ierror, mine(2), its(2)
  type(MPI_Comm) :: graph
  type(MPI_Status) :: status, statuses(2)
  type(MPI_Request) :: requests(2)
  include 'waits.inc'
end program
