! SPDX-License-Identifier: Apache-2.0
! leat_init and leat_split for MPI codes. A module of its own, compiled by your own MPI compiler, so that Leat itself needs
! no MPI.
module leat_mpi
  use, intrinsic :: iso_c_binding
  use mpi_f08
  use leat
  implicit none
  private
  public :: leat_init_mpi, leat_split

  ! Collective over comm, which is not kept and stays as it is: no rank is taken away. comm: type(MPI_Comm) or integer. An
  ! error is the same on all ranks, which return together. leat_mpi.h says more.
  interface leat_init_mpi
    module procedure init_f08, init_integer
  end interface

  ! With place="ranks" in the XML the last ranks of each node become its servers, and come back when the run is over: stat is
  ! LEAT_SERVED, simulation is MPI_COMM_NULL, and MPI_Finalize is all that is left to do. The others get the communicator for
  ! all they do, and for leat_init_mpi; in other places it is `world` itself. Collective over world, before leat_init, once.
  ! world, simulation: type(MPI_Comm) or integer. leat_mpi.h says more.
  interface leat_split
    module procedure split_f08, split_integer
  end interface

  ! leat_group of leat.h.
  type, bind(C) :: group_t
    integer(c_int64_t) :: struct_size
    type(c_ptr) :: context
    integer(c_int32_t) :: rank, size
    type(c_funptr) :: arrive, broadcast, least, node, divide
  end type

  ! What the calls of the group know: of leat_split, which is called once, or else of leat_init_mpi.
  type(MPI_Comm), save :: all_ranks, part
  type(MPI_Request), save :: barrier

  interface
    integer(c_int) function split_group_c(config, group, divided) bind(C, name="leat_fortran_split")
      import :: c_int, c_char, c_int32_t, group_t
      character(kind=c_char, len=*), intent(in) :: config
      type(group_t), intent(in) :: group
      integer(c_int32_t), intent(out) :: divided
    end function

    integer(c_int) function init_group_c(config, group) bind(C, name="leat_fortran_init_group")
      import :: c_int, c_char, group_t
      character(kind=c_char, len=*), intent(in) :: config
      type(group_t), intent(in) :: group
    end function

    integer(c_int32_t) function memory_node_c() bind(C, name="leat_memory_node")
      import :: c_int32_t
    end function

    integer(c_int) function split_end_c() bind(C, name="leat_split_end")
      import :: c_int
    end function

    subroutine abort_if_asked(status) bind(C, name="leat_fortran_abort_if_asked")
      import :: c_int
      integer(c_int), intent(in) :: status
    end subroutine
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
    call report(init_group_c(config, group_of(comm)), stat, errmsg)
  end subroutine

  type(group_t) function group_of(comm) result(group)
    type(MPI_Comm), intent(in) :: comm
    all_ranks = comm
    part = comm
    group%struct_size = c_sizeof(group)
    group%context = c_null_ptr
    group%rank = 0
    group%size = 0
    if (comm /= MPI_COMM_NULL) then
      call MPI_Comm_rank(comm, group%rank)
      call MPI_Comm_size(comm, group%size)
    end if
    group%arrive = c_funloc(arrive)
    group%broadcast = c_funloc(broadcast)
    group%least = c_funloc(least)
    group%node = c_funloc(node_of)
    group%divide = c_funloc(divide)
  end function

  subroutine split_integer(config, world, simulation, stat, errmsg)
    character(*), intent(in) :: config
    integer, intent(in) :: world
    integer, intent(out) :: simulation
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(MPI_Comm) :: made
    call split_f08(config, MPI_Comm(world), made, stat, errmsg)
    simulation = made%MPI_VAL
  end subroutine

  subroutine split_f08(config, world, simulation, stat, errmsg)
    character(*), intent(in) :: config
    type(MPI_Comm), intent(in) :: world
    type(MPI_Comm), intent(out) :: simulation
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int) :: status
    integer(c_int32_t) :: divided
    integer :: key
    status = split_group_c(config, group_of(world), divided)
    simulation = MPI_COMM_NULL
    if (status == LEAT_OK) then
      simulation = part
    else if (part /= world) then
      call MPI_Comm_free(part)
    end if
    if (status == LEAT_OK .and. divided /= 0) then
      call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, key, 0_MPI_ADDRESS_KIND)
      call MPI_Comm_set_attr(MPI_COMM_SELF, key, 0_MPI_ADDRESS_KIND)
    end if
    call report(status, stat, errmsg)
  end subroutine

  subroutine report(status, stat, errmsg)
    integer(c_int), intent(in) :: status
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    if (present(errmsg) .and. status < 0) errmsg = leat_last_error()
    if (present(stat)) then
      stat = status
    else
      call abort_if_asked(status)
    end if
  end subroutine

  integer(c_int32_t) function arrive(context, begin) bind(C)
    type(c_ptr), value :: context
    integer(c_int32_t), value :: begin
    logical :: done
    if (begin /= 0) call MPI_Ibarrier(part, barrier)
    call MPI_Test(barrier, done, MPI_STATUS_IGNORE)
    arrive = merge(1, 0, done)
    if (.false.) print *, c_associated(context)
  end function

  subroutine broadcast(context, data, bytes, root) bind(C)
    type(c_ptr), value :: context, data
    integer(c_int32_t), value :: bytes, root
    character(kind=c_char), pointer :: characters(:)
    call c_f_pointer(data, characters, [bytes])
    call MPI_Bcast(characters, bytes, MPI_BYTE, root, all_ranks)
    if (.false.) print *, c_associated(context)
  end subroutine

  subroutine least(context, value) bind(C)
    type(c_ptr), value :: context
    integer(c_int64_t), intent(inout) :: value
    integer(c_int64_t) :: mine
    mine = value
    call MPI_Allreduce(mine, value, 1, MPI_INT64_T, MPI_MIN, all_ranks)
    if (.false.) print *, c_associated(context)
  end subroutine

  subroutine node_of(context, rank, size) bind(C)
    type(c_ptr), value :: context
    integer(c_int32_t), intent(out) :: rank, size
    type(MPI_Comm) :: node
    call MPI_Comm_split_type(all_ranks, MPI_COMM_TYPE_SHARED, int(memory_node_c()), MPI_INFO_NULL, node)
    call MPI_Comm_rank(node, rank)
    call MPI_Comm_size(node, size)
    call MPI_Comm_free(node)
    if (.false.) print *, c_associated(context)
  end subroutine

  subroutine divide(context, server, rank, size) bind(C)
    type(c_ptr), value :: context
    integer(c_int32_t), value :: server
    integer(c_int32_t), intent(out) :: rank, size
    call MPI_Comm_split(all_ranks, server, 0, part)
    call MPI_Comm_rank(part, rank)
    call MPI_Comm_size(part, size)
    if (.false.) print *, c_associated(context)
  end subroutine

  ! Called by MPI_Finalize before all else it does.
  subroutine at_end(comm, keyval, value, extra, ierror)
    type(MPI_Comm) :: comm
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra
    integer(c_int) :: ignored
    ignored = split_end_c()
    ierror = MPI_SUCCESS
    if (.false.) print *, comm%MPI_VAL, keyval, value, extra
  end subroutine
end module leat_mpi
