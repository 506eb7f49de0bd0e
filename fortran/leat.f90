! SPDX-License-Identifier: Apache-2.0
! Leat for Fortran.
!
!     use leat
!     call leat_init("flow.xml")
!     do ...
!       call leat_write("u", u(1:nx, 1:ny))
!       call leat_end_iteration()
!     end do
!     call leat_finalize()
!
! Conventions
!  1. stat= and errmsg= are optional everywhere. stat is 0 for success, negative for errors (LEAT_ERROR_...). Without stat
!     the first error of a kind is printed and the run goes on; with LEAT_ON_ERROR=abort in the environment it ends.
!  2. leat_write takes any array section of rank 0 to 7 of integer, real, complex, logical and character as it is: no
!     temporary is made, one copy packs it. Type, rank and extents are checked against the XML. The array is yours again
!     when the call returns.
!  3. Order is Fortran's: u(x, y, z) is dimensions="x,y,z" in a layout with order="fortran", and z, y, x in files and in
!     Python; in a layout without it, the XML has z, y, x too. Extents and positions here are in Fortran's order, one for each
!     dimension, and positions start at 1.
!  4. Trailing blanks of names do not matter. logical(k) is declared as an integer of k bytes, character(len=n) with n > 1 as
!     char with one more dimension of n, the first in the XML with order="fortran", else the last.
!  5. Thread safe, as leat.h says.
module leat
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64, error_unit
  implicit none
  private

  public :: leat_init, leat_init_ranks, leat_finalize, leat_write, leat_alloc, leat_commit, leat_set_extent
  public :: leat_set_position, leat_set_level, leat_end_iteration, leat_iteration, leat_set_int, leat_set_double, leat_set_string
  public :: leat_signal, leat_idle_begin, leat_idle_end, leat_after_collective
  public :: leat_get, leat_get_int, leat_get_double, leat_get_string
  public :: leat_wanted, leat_last_error, leat_status_name

  integer(c_int), parameter, public :: LEAT_OK = 0, LEAT_UNWANTED = 1, LEAT_DROPPED = 2, LEAT_SERVED = 3, &
    LEAT_ERROR_ARGUMENT = -1, LEAT_ERROR_STATE = -2, &
    LEAT_ERROR_CONFIG = -3, LEAT_ERROR_UNKNOWN_NAME = -4, LEAT_ERROR_TYPE = -5, LEAT_ERROR_SHAPE = -6, &
    LEAT_ERROR_TOO_LARGE = -7, LEAT_ERROR_FULL = -8, LEAT_ERROR_TIMEOUT = -9, LEAT_ERROR_SERVER = -10, &
    LEAT_ERROR_VERSION = -11, LEAT_ERROR_MEMORY = -12, LEAT_ERROR_SYSTEM = -13, LEAT_ERROR_LOST = -14, &
    LEAT_ERROR_INTERNAL = -15

  ! The C between this module and libleat (leat_fortran.c). Each returns its status; report() does the rest, in Fortran:
  ! gfortran 12 crashes when an optional character argument is passed on to a bind(C) procedure.
  interface
    integer(c_int) function init_c(config) bind(C, name="leat_fortran_init")
      import :: c_int, c_char
      character(kind=c_char, len=*), intent(in) :: config
    end function

    integer(c_int) function init_ranks_c(config, rank, size, node_rank, node_size, session) &
        bind(C, name="leat_fortran_init_ranks")
      import :: c_int, c_char
      character(kind=c_char, len=*), intent(in) :: config, session
      integer(c_int), intent(in) :: rank, size, node_rank, node_size
    end function

    integer(c_int) function finalize_c() bind(C, name="leat_finalize")
      import :: c_int
    end function

    integer(c_int) function write_c(variable, data, block) bind(C, name="leat_fortran_write")
      import :: c_int, c_char
      character(kind=c_char, len=*), intent(in) :: variable
      type(*), dimension(..), intent(in) :: data
      integer(c_int), intent(in) :: block
    end function

    integer(c_int) function alloc_c(variable, type, rank, memory, extent, block) bind(C, name="leat_fortran_alloc")
      import :: c_int, c_char, c_ptr, c_int64_t
      character(kind=c_char, len=*), intent(in) :: variable
      integer(c_int), intent(in) :: type, rank, block
      type(c_ptr), intent(out) :: memory
      integer(c_int64_t), intent(out) :: extent(7)
    end function

    integer(c_int) function commit_c(variable, block) bind(C, name="leat_fortran_commit")
      import :: c_int, c_char
      character(kind=c_char, len=*), intent(in) :: variable
      integer(c_int), intent(in) :: block
    end function

    integer(c_int) function end_iteration_c() bind(C, name="leat_end_iteration")
      import :: c_int
    end function

    integer(c_int64_t) function leat_iteration() bind(C, name="leat_iteration")
      import :: c_int64_t
    end function

    integer(c_int) function set_extent_c(variable, extent, block) bind(C, name="leat_fortran_set_extent")
      import :: c_int, c_char, c_int64_t
      character(kind=c_char, len=*), intent(in) :: variable
      integer(c_int64_t), intent(in) :: extent(:)
      integer(c_int), intent(in) :: block
    end function

    integer(c_int) function set_position_c(variable, position, block) bind(C, name="leat_fortran_set_position")
      import :: c_int, c_char, c_int64_t
      character(kind=c_char, len=*), intent(in) :: variable
      integer(c_int64_t), intent(in) :: position(:)
      integer(c_int), intent(in) :: block
    end function

    integer(c_int) function set_level_c(mesh, block, level, position) bind(C, name="leat_fortran_set_level")
      import :: c_int, c_char, c_int64_t
      character(kind=c_char, len=*), intent(in) :: mesh
      integer(c_int), intent(in) :: block, level
      integer(c_int64_t), intent(in) :: position(:)
    end function

    integer(c_int) function signal_c(event) bind(C, name="leat_fortran_signal")
      import :: c_int, c_char
      character(kind=c_char, len=*), intent(in) :: event
    end function

    integer(c_int) function idle_begin_c(site) bind(C, name="leat_fortran_idle_begin")
      import :: c_int, c_char
      character(kind=c_char, len=*), intent(in) :: site
    end function

    integer(c_int) function idle_end_c() bind(C, name="leat_idle_end")
      import :: c_int
    end function

    integer(c_int) function after_collective_c(ranks) bind(C, name="leat_after_collective")
      import :: c_int, c_int32_t
      integer(c_int32_t), value :: ranks
    end function

    integer(c_int) function set_int_c(parameter, value) bind(C, name="leat_fortran_set_int")
      import :: c_int, c_char, c_int64_t
      character(kind=c_char, len=*), intent(in) :: parameter
      integer(c_int64_t), intent(in) :: value
    end function

    integer(c_int) function set_double_c(parameter, value) bind(C, name="leat_fortran_set_double")
      import :: c_int, c_char, c_double
      character(kind=c_char, len=*), intent(in) :: parameter
      real(c_double), intent(in) :: value
    end function

    integer(c_int) function set_string_c(parameter, value) bind(C, name="leat_fortran_set_string")
      import :: c_int, c_char
      character(kind=c_char, len=*), intent(in) :: parameter, value
    end function

    integer(c_int) function get_int_c(parameter, value) bind(C, name="leat_fortran_get_int")
      import :: c_int, c_char, c_int64_t
      character(kind=c_char, len=*), intent(in) :: parameter
      integer(c_int64_t), intent(inout) :: value
    end function

    integer(c_int) function get_double_c(parameter, value) bind(C, name="leat_fortran_get_double")
      import :: c_int, c_char, c_double
      character(kind=c_char, len=*), intent(in) :: parameter
      real(c_double), intent(inout) :: value
    end function

    integer(c_int) function get_string_c(parameter, value) bind(C, name="leat_fortran_get_string")
      import :: c_int, c_char
      character(kind=c_char, len=*), intent(in) :: parameter
      character(kind=c_char, len=*), intent(inout) :: value
    end function

    subroutine abort_if_asked(status) bind(C, name="leat_fortran_abort_if_asked")
      import :: c_int
      integer(c_int), intent(in) :: status
    end subroutine

    integer(c_int) function wanted_c(variable) bind(C, name="leat_fortran_wanted")
      import :: c_int, c_char
      character(kind=c_char, len=*), intent(in) :: variable
    end function

    type(c_ptr) function last_error_c() bind(C, name="leat_last_error")
      import :: c_ptr
    end function

    type(c_ptr) function status_name_c(status) bind(C, name="leat_status_name")
      import :: c_ptr, c_int
      integer(c_int), value :: status
    end function

    integer(c_size_t) function strlen(text) bind(C, name="strlen")
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
    end function
  end interface

  ! Extents of a block with "?" dimensions, ghosts included; leat_write takes them from its array by itself.
  interface leat_set_extent
    module procedure set_extent_32, set_extent_64
  end interface

  ! Index, from 1, of a block's first cell that is no ghost in the global array.
  interface leat_set_position
    module procedure set_position_32, set_position_64
  end interface

  ! leat_set_level(mesh, block, level, position [, stat, errmsg]): of which level of an amr mesh a block is, and where: index,
  ! from 1, of its first cell that is no ghost among the cells of that level. Levels count from 0, the coarsest.
  interface leat_set_level
    module procedure set_level_32, set_level_64
  end interface

  interface leat_set_int
    module procedure set_int_32, set_int_64
  end interface

  interface leat_set_double
    module procedure set_double_32, set_double_64
  end interface

  ! leat_get(parameter, value [, stat, errmsg]): what the parameter is in this rank's current iteration, steered or not; see
  ! leat_get_int in leat.h. An integer parameter fits a real value too. With LEAT=off, and after an error, the value stays as
  ! it is: give it what the code uses without Leat.
  interface leat_get
    module procedure get_int_32, get_int_64, get_double_32, get_double_64, leat_get_string
  end interface

  interface leat_get_int
    module procedure get_int_32, get_int_64
  end interface

  interface leat_get_double
    module procedure get_double_32, get_double_64
  end interface

  ! leat_alloc(variable, pointer [, block, stat, errmsg]): the pointer, of the declared type and rank, is associated with
  ! memory of the segment until leat_commit; it is nullified when there is none (an error, or LEAT=off).
  include "leat_alloc_names.inc"

contains

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

  subroutine leat_init(config, stat, errmsg)
    character(*), intent(in) :: config
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(init_c(config), stat, errmsg)
  end subroutine

  ! For launchers that Leat does not know; MPI codes call leat_init_mpi of module leat_mpi. A blank session is taken from the
  ! launcher.
  subroutine leat_init_ranks(config, rank, size, node_rank, node_size, session, stat, errmsg)
    character(*), intent(in) :: config, session
    integer, intent(in) :: rank, size, node_rank, node_size
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(init_ranks_c(config, rank, size, node_rank, node_size, session), stat, errmsg)
  end subroutine

  subroutine leat_finalize(stat, errmsg)
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(finalize_c(), stat, errmsg)
  end subroutine

  subroutine leat_write(variable, data, block, stat, errmsg)
    character(*), intent(in) :: variable
    type(*), dimension(..), intent(in) :: data
    integer, intent(in), optional :: block
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(write_c(variable, data, number_of(block)), stat, errmsg)
  end subroutine

  subroutine leat_commit(variable, block, stat, errmsg)
    character(*), intent(in) :: variable
    integer, intent(in), optional :: block
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(commit_c(variable, number_of(block)), stat, errmsg)
  end subroutine

  subroutine set_extent_32(variable, extent, block, stat, errmsg)
    character(*), intent(in) :: variable
    integer(int32), intent(in) :: extent(:)
    integer, intent(in), optional :: block
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(set_extent_c(variable, int(extent, c_int64_t), number_of(block)), stat, errmsg)
  end subroutine

  subroutine set_extent_64(variable, extent, block, stat, errmsg)
    character(*), intent(in) :: variable
    integer(int64), intent(in) :: extent(:)
    integer, intent(in), optional :: block
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(set_extent_c(variable, extent, number_of(block)), stat, errmsg)
  end subroutine

  subroutine set_position_32(variable, position, block, stat, errmsg)
    character(*), intent(in) :: variable
    integer(int32), intent(in) :: position(:)
    integer, intent(in), optional :: block
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(set_position_c(variable, int(position, c_int64_t), number_of(block)), stat, errmsg)
  end subroutine

  subroutine set_position_64(variable, position, block, stat, errmsg)
    character(*), intent(in) :: variable
    integer(int64), intent(in) :: position(:)
    integer, intent(in), optional :: block
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(set_position_c(variable, position, number_of(block)), stat, errmsg)
  end subroutine

  subroutine set_level_32(mesh, block, level, position, stat, errmsg)
    character(*), intent(in) :: mesh
    integer, intent(in) :: block, level
    integer(int32), intent(in) :: position(:)
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(set_level_c(mesh, block, level, int(position, c_int64_t)), stat, errmsg)
  end subroutine

  subroutine set_level_64(mesh, block, level, position, stat, errmsg)
    character(*), intent(in) :: mesh
    integer, intent(in) :: block, level
    integer(int64), intent(in) :: position(:)
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(set_level_c(mesh, block, level, position), stat, errmsg)
  end subroutine

  subroutine leat_end_iteration(stat, errmsg)
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(end_iteration_c(), stat, errmsg)
  end subroutine

  ! Signals an <event> of the XML in this rank's current iteration; see leat_signal in leat.h.
  subroutine leat_signal(event, stat, errmsg)
    character(*), intent(in) :: event
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(signal_c(event), stat, errmsg)
  end subroutine

  ! From here on, until leat_idle_end, this rank's cores have nothing to do; see leat_idle_begin in leat.h.
  subroutine leat_idle_begin(site, stat, errmsg)
    character(*), intent(in) :: site
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(idle_begin_c(site), stat, errmsg)
  end subroutine

  subroutine leat_idle_end(stat, errmsg)
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(idle_end_c(), stat, errmsg)
  end subroutine

  ! This rank has come out of a collective of so many ranks, 0 for all of the run; see leat_after_collective in leat.h.
  subroutine leat_after_collective(ranks, stat, errmsg)
    integer, intent(in) :: ranks
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(after_collective_c(int(ranks, c_int32_t)), stat, errmsg)
  end subroutine

  subroutine leat_set_string(parameter, value, stat, errmsg)
    character(*), intent(in) :: parameter, value
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(set_string_c(parameter, value), stat, errmsg)
  end subroutine

  ! Blocks are numbered from 0, as in C; most codes have one.
  pure integer(c_int) function number_of(block)
    integer, intent(in), optional :: block
    number_of = 0
    if (present(block)) number_of = block
  end function

  subroutine set_int_32(parameter, value, stat, errmsg)
    character(*), intent(in) :: parameter
    integer(int32), intent(in) :: value
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(set_int_c(parameter, int(value, c_int64_t)), stat, errmsg)
  end subroutine

  subroutine set_int_64(parameter, value, stat, errmsg)
    character(*), intent(in) :: parameter
    integer(int64), intent(in) :: value
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(set_int_c(parameter, value), stat, errmsg)
  end subroutine

  subroutine set_double_32(parameter, value, stat, errmsg)
    character(*), intent(in) :: parameter
    real(real32), intent(in) :: value
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(set_double_c(parameter, real(value, c_double)), stat, errmsg)
  end subroutine

  subroutine set_double_64(parameter, value, stat, errmsg)
    character(*), intent(in) :: parameter
    real(real64), intent(in) :: value
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(set_double_c(parameter, value), stat, errmsg)
  end subroutine

  subroutine get_int_32(parameter, value, stat, errmsg)
    character(*), intent(in) :: parameter
    integer(int32), intent(inout) :: value
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: wide
    integer(c_int) :: status
    wide = value
    status = get_int_c(parameter, wide)
    if (wide > huge(value) .or. wide < -huge(value) - 1_int64) then
      call report_misfit(parameter, stat, errmsg)
    else
      value = int(wide, int32)
      call report(status, stat, errmsg)
    end if
  end subroutine

  ! Found here and not by the library, so leat_last_error() does not know it.
  subroutine report_misfit(parameter, stat, errmsg)
    character(*), intent(in) :: parameter
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: message
    message = 'leat_get_int: the value of "' // trim(parameter) // '" does not fit integer(4): use integer(8)'
    if (present(errmsg)) errmsg = message
    if (present(stat)) then
      stat = LEAT_ERROR_TYPE
    else
      write (error_unit, "(a)") "leat: " // message
      call abort_if_asked(LEAT_ERROR_TYPE)
    end if
  end subroutine

  subroutine get_int_64(parameter, value, stat, errmsg)
    character(*), intent(in) :: parameter
    integer(int64), intent(inout) :: value
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(get_int_c(parameter, value), stat, errmsg)
  end subroutine

  subroutine get_double_32(parameter, value, stat, errmsg)
    character(*), intent(in) :: parameter
    real(real32), intent(inout) :: value
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(c_double) :: wide
    integer(c_int) :: status
    wide = real(value, c_double)
    status = get_double_c(parameter, wide)
    value = real(wide, real32)
    call report(status, stat, errmsg)
  end subroutine

  subroutine get_double_64(parameter, value, stat, errmsg)
    character(*), intent(in) :: parameter
    real(real64), intent(inout) :: value
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(get_double_c(parameter, value), stat, errmsg)
  end subroutine

  ! Padded with blanks; an error when the value is longer.
  subroutine leat_get_string(parameter, value, stat, errmsg)
    character(*), intent(in) :: parameter
    character(*), intent(inout) :: value
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(get_string_c(parameter, value), stat, errmsg)
  end subroutine

  ! True when some store takes the variable in the current iteration.
  logical function leat_wanted(variable)
    character(*), intent(in) :: variable
    leat_wanted = wanted_c(variable) /= 0
  end function

  ! The message of this thread's last call that failed.
  function leat_last_error() result(text)
    character(:), allocatable :: text
    text = text_at(last_error_c())
  end function

  function leat_status_name(status) result(text)
    integer(c_int), intent(in) :: status
    character(:), allocatable :: text
    text = text_at(status_name_c(status))
  end function

  function text_at(address) result(text)
    type(c_ptr), intent(in) :: address
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    call c_f_pointer(address, letters, [strlen(address)])
    allocate(character(size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function

  include "leat_alloc_bodies.inc"
end module leat
