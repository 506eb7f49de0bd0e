! SPDX-License-Identifier: Apache-2.0
! waits.inc with mpif.h.
program waits_mpifh
  implicit none
  include 'mpif.h'
  integer :: rank, other, ierror, mine(2), its(2)
  integer :: graph, status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2), requests(2)
  include 'waits.inc'
end program
