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

  public :: leat_init_ranks, leat_write, leat_write_all, leat_write_any, leat_read, leat_read_all, leat_alloc, leat_iteration
  public :: leat_get, leat_get_string, leat_wanted, leat_last_error, leat_status_name

  integer(c_int), parameter, public :: LEAT_OK = 0, LEAT_UNWANTED = 1, LEAT_DROPPED = 2, LEAT_SERVED = 3, &
    LEAT_ERROR_ARGUMENT = -1, LEAT_ERROR_STATE = -2, &
    LEAT_ERROR_CONFIG = -3, LEAT_ERROR_UNKNOWN_NAME = -4, LEAT_ERROR_TYPE = -5, LEAT_ERROR_SHAPE = -6, &
    LEAT_ERROR_TOO_LARGE = -7, LEAT_ERROR_FULL = -8, LEAT_ERROR_TIMEOUT = -9, LEAT_ERROR_SERVER = -10, &
    LEAT_ERROR_VERSION = -11, LEAT_ERROR_MEMORY = -12, LEAT_ERROR_SYSTEM = -13, LEAT_ERROR_LOST = -14, &
    LEAT_ERROR_INTERNAL = -15

  ! leat_list of leat_build.h; and leat_reals, which is alike.
  type, bind(C) :: list_t
    integer(c_int64_t) :: struct_size
    type(c_ptr) :: numbers
    integer(c_int32_t) :: count, column_major
  end type

  ! Most calls are made, by generate.py, of client-api/api/calls.def: each is a procedure
  ! leat_call(arguments [, block, stat, errmsg]) over the call of C. Positions count from 1 here, levels from 0, the coarsest.
  include "leat_calls_names.inc"

  ! The C between this module and libleat (leat_fortran.c). Each returns its status; report() does the rest, in Fortran:
  ! gfortran 12 crashes when an optional character argument is passed on to a bind(C) procedure.
  interface
    integer(c_int) function init_ranks_c(config, rank, size, node_rank, node_size, session) &
        bind(C, name="leat_fortran_init_ranks")
      import :: c_int, c_char
      character(kind=c_char, len=*), intent(in) :: config, session
      integer(c_int), intent(in) :: rank, size, node_rank, node_size
    end function

    integer(c_int) function write_c(variable, data, block) bind(C, name="leat_fortran_write")
      import :: c_int, c_char
      character(kind=c_char, len=*), intent(in) :: variable
      type(*), dimension(..), intent(in) :: data
      integer(c_int), intent(in) :: block
    end function

    integer(c_int) function write_any_c(name, data) bind(C, name="leat_fortran_write_any")
      import :: c_int, c_char
      character(kind=c_char, len=*), intent(in) :: name
      type(*), dimension(..), intent(in) :: data
    end function

    integer(c_int) function write_all_c(variables, a, b, c, d, e, f, g, h) bind(C, name="leat_fortran_write_all")
      import :: c_int, c_char
      character(kind=c_char, len=*), intent(in) :: variables
      type(*), dimension(..), intent(in), optional :: a, b, c, d, e, f, g, h
    end function

    integer(c_int) function read_all_c(variables, a, b, c, d, e, f, g, h) bind(C, name="leat_fortran_read_all")
      import :: c_int, c_char
      character(kind=c_char, len=*), intent(in) :: variables
      type(*), dimension(..), intent(inout), optional :: a, b, c, d, e, f, g, h
    end function

    integer(c_int) function read_c(variable, data, block) bind(C, name="leat_fortran_read")
      import :: c_int, c_char
      character(kind=c_char, len=*), intent(in) :: variable
      type(*), dimension(..), intent(inout) :: data
      integer(c_int), intent(in) :: block
    end function

    integer(c_int) function alloc_c(variable, type, rank, memory, extent, block) bind(C, name="leat_fortran_alloc")
      import :: c_int, c_char, c_ptr, c_int64_t
      character(kind=c_char, len=*), intent(in) :: variable
      integer(c_int), intent(in) :: type, rank, block
      type(c_ptr), intent(out) :: memory
      integer(c_int64_t), intent(out) :: extent(7)
    end function

    integer(c_int64_t) function leat_iteration() bind(C, name="leat_iteration")
      import :: c_int64_t
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

  ! leat_get(parameter, value [, stat, errmsg]): what the parameter is in this rank's current iteration, steered or not; see
  ! leat_get_int in leat.h. An integer parameter fits a real value too. With LEAT=off, and after an error, the value stays as
  ! it is: give it what the code uses without Leat.
  interface leat_get
    module procedure get_int_32, get_int_64, get_double_32, get_double_64, leat_get_string
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

  ! For launchers that Leat does not know; MPI codes call leat_init_mpi of module leat_mpi. A blank session is taken from the
  ! launcher.
  subroutine leat_init_ranks(config, rank, size, node_rank, node_size, session, stat, errmsg)
    character(*), intent(in) :: config, session
    integer, intent(in) :: rank, size, node_rank, node_size
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(init_ranks_c(config, rank, size, node_rank, node_size, session), stat, errmsg)
  end subroutine

  subroutine leat_write(variable, data, block, stat, errmsg)
    character(*), intent(in) :: variable
    type(*), dimension(..), intent(in) :: data
    integer, intent(in), optional :: block
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(write_c(variable, data, number_of(block)), stat, errmsg)
  end subroutine

  ! Several at once, of block 0: call leat_write_all("u,v,w", u, v, w), up to 8 arrays. All are written, whatever becomes of one; the
  ! first error counts. stat= and errmsg= are named.
  subroutine leat_write_all(variables, a, b, c, d, e, f, g, h, stat, errmsg)
    character(*), intent(in) :: variables
    type(*), dimension(..), intent(in), optional :: a, b, c, d, e, f, g, h
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(write_all_c(variables, a, b, c, d, e, f, g, h), stat, errmsg)
  end subroutine

  ! The same under any name: of one that the XML does not declare, undeclared="..." of <data> says what becomes of it.
  subroutine leat_write_any(name, data, stat, errmsg)
    character(*), intent(in) :: name
    type(*), dimension(..), intent(in) :: data
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(write_any_c(name, data), stat, errmsg)
  end subroutine

  ! Fills any array section that leat_write takes with what the checkpoint has of it.
  subroutine leat_read(variable, data, block, stat, errmsg)
    character(*), intent(in) :: variable
    type(*), dimension(..), intent(inout) :: data
    integer, intent(in), optional :: block
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(read_c(variable, data, number_of(block)), stat, errmsg)
  end subroutine

  ! Several at once, as leat_write_all writes them.
  subroutine leat_read_all(variables, a, b, c, d, e, f, g, h, stat, errmsg)
    character(*), intent(in) :: variables
    type(*), dimension(..), intent(inout), optional :: a, b, c, d, e, f, g, h
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(read_all_c(variables, a, b, c, d, e, f, g, h), stat, errmsg)
  end subroutine

  ! Blocks are numbered from 0, as in C; most codes have one. And 0 ranks are all.
  pure integer(c_int) function number_of(block)
    integer, intent(in), optional :: block
    number_of = 0
    if (present(block)) number_of = block
  end function

  ! Found here and not by the library, so leat_last_error() does not know it.
  subroutine report_misfit(call, parameter, stat, errmsg)
    character(*), intent(in) :: call, parameter
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: message
    message = call // ': the value of "' // trim(parameter) // '" does not fit integer(4): use integer(8)'
    if (present(errmsg)) errmsg = message
    if (present(stat)) then
      stat = LEAT_ERROR_TYPE
    else
      write (error_unit, "(a)") "leat: " // message
      call abort_if_asked(LEAT_ERROR_TYPE)
    end if
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

  type(list_t) function list_of(numbers) result(list)
    integer(c_int64_t), intent(in), contiguous, target :: numbers(:)
    list%struct_size = c_sizeof(list)
    list%numbers = c_loc(numbers)
    list%count = size(numbers)
    list%column_major = 1
  end function

  type(list_t) function reals_of(numbers) result(list)
    real(c_double), intent(in), contiguous, target :: numbers(:)
    list%struct_size = c_sizeof(list)
    list%numbers = c_loc(numbers)
    list%count = size(numbers)
    list%column_major = 0
  end function

  include "leat_calls_bodies.inc"
  include "leat_alloc_bodies.inc"
end module leat
