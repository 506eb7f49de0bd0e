! SPDX-License-Identifier: Apache-2.0
! leat_init for MPI codes. A module of its own, compiled by your own MPI compiler, so that Leat itself needs no MPI.
module leat_mpi
  use, intrinsic :: iso_c_binding, only: c_int
  use, intrinsic :: iso_fortran_env, only: int64
  use mpi_f08
  use leat
  implicit none
  private
  public :: leat_init_mpi

  ! Collective over comm, which is not kept and stays as it is: no rank is taken away. comm: type(MPI_Comm) or integer.
  interface leat_init_mpi
    module procedure init_f08, init_integer
  end interface

contains

  subroutine init_integer(config, comm, stat, errmsg)
    character(*), intent(in) :: config
    integer, intent(in) :: comm
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call init_f08(config, MPI_Comm(comm), stat, errmsg)
  end subroutine

  subroutine init_f08(config, comm, stat, errmsg)
    character(*), intent(in) :: config
    type(MPI_Comm), intent(in) :: comm
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(MPI_Comm) :: node
    integer :: rank, size, node_rank, node_size
    character(len=64) :: session
    call MPI_Comm_rank(comm, rank)
    call MPI_Comm_size(comm, size)
    call MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, node)
    call MPI_Comm_rank(node, node_rank)
    call MPI_Comm_size(node, node_size)
    call MPI_Comm_free(node)
    session = session_name()
    call MPI_Bcast(session, len(session), MPI_CHARACTER, 0, comm)
    call leat_init_ranks(config, rank, size, node_rank, node_size, session, stat, errmsg)
  end subroutine

  ! One name for this run, different from any other's: process and time of the first rank.
  character(len=64) function session_name()
    integer(int64) :: ticks  ! since the machine started
    integer(c_int) :: pid
    interface
      integer(c_int) function getpid() bind(C, name="getpid")
        import :: c_int
      end function
    end interface
    pid = getpid()
    call system_clock(ticks)
    write (session_name, '("f-", i0, "-", z0)') pid, ticks
  end function
end module leat_mpi
