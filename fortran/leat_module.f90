! SPDX-License-Identifier: Apache-2.0
! A module of a graph in Fortran: a program that Leat starts, and that has a turn for each iteration of its inputs.
!
!     use leat_module
!     real(real64), pointer :: u(:,:)
!     real(real64) :: total
!     integer :: i
!     do while (leat_wait())
!       total = 0
!       do i = 1, leat_parts("u")
!         call leat_get("u", u, part=i)
!         total = total + sum(u)
!       end do
!       call leat_put("sum", total, unit="K")
!     end do
!
! Conventions, beside those of leat_module.h, over which this is
!  1. stat= and errmsg= are optional everywhere. stat is 0 for success, negative for errors, by the numbers of leat.h. Without
!     it the error is in the log of the run, once, and the program goes on.
!  2. Order is Fortran's: u(x, y) here is what files, C and Python call [y, x]. Extents, names, positions and ghosts are in
!     Fortran's order; parts and positions count from 1.
!  3. leat_get associates a pointer with memory that must not be written, until the next leat_wait. It is not associated where
!     there is no such part, it has no elements, or type or rank are others.
!  4. Types are integer and real of kinds 4 and 8, ranks 0 to 3.
!  5. A program that uses module leat too renames one leat_get: use leat_module, get_part => leat_get.
module leat_module
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  implicit none
  private

  public :: leat_wait, leat_turn_iteration, leat_turn_complete, leat_turn_time, leat_turn_get, leat_parts, leat_get, leat_describe
  public :: leat_put, leat_put_memory, leat_module_name, leat_module_option, leat_module_log, leat_module_error
  public :: int32, int64, real32, real64

  integer, parameter :: most_dims = 8, most_letters = 256

  ! leat_part of leat_module.h.
  type, bind(C) :: part_t
    integer(c_int64_t) :: struct_size = 0
    type(c_ptr) :: data = c_null_ptr
    integer(c_int64_t) :: bytes = 0
    integer(c_int32_t) :: type = 0, dims = 0
    integer(c_int64_t) :: extent(most_dims) = 0
    type(c_ptr) :: name(most_dims) = c_null_ptr
    type(c_ptr) :: unit = c_null_ptr
    integer(c_int64_t) :: iteration = 0
    type(c_ptr) :: source = c_null_ptr
    integer(c_int32_t) :: rank = -1, block = -1, level = -1, has_position = 0
    integer(c_int64_t) :: position(most_dims) = 0, ghosts_before(most_dims) = 0, ghosts_after(most_dims) = 0
    integer(c_int32_t) :: has_global = 0, reserved = 0
    integer(c_int64_t) :: global(most_dims) = 0
  end type

  ! What leat_describe says of a part. source: "" for a block of the simulation, else rank and block are -1. position: of its
  ! first cell that is no ghost, from 1; allocated where it has one, as global, the extents of the whole.
  type, public :: leat_description
    integer :: type = 0, rank = -1, block = -1, level = -1
    integer(int64) :: iteration = -1
    character(:), allocatable :: unit, source
    integer(int64), allocatable :: extent(:), ghosts_before(:), ghosts_after(:), position(:), global(:)
  end type

  interface
    integer(c_int) function wait_c() bind(C, name="leat_wait")
      import :: c_int
    end function

    ! -1 outside of a turn.
    integer(c_int64_t) function leat_turn_iteration() bind(C, name="leat_turn_iteration")
      import :: c_int64_t
    end function

    integer(c_int) function turn_complete_c() bind(C, name="leat_turn_complete")
      import :: c_int
    end function

    integer(c_int) function turn_time_c(time) bind(C, name="leat_turn_time")
      import :: c_int, c_double
      real(c_double), intent(inout) :: time
    end function

    integer(c_int) function turn_int_c(parameter, value) bind(C, name="leat_turn_int")
      import :: c_int, c_char, c_int64_t
      character(kind=c_char), intent(in) :: parameter(*)
      integer(c_int64_t), intent(inout) :: value
    end function

    integer(c_int) function turn_double_c(parameter, value) bind(C, name="leat_turn_double")
      import :: c_int, c_char, c_double
      character(kind=c_char), intent(in) :: parameter(*)
      real(c_double), intent(inout) :: value
    end function

    integer(c_int) function turn_text_c(parameter, text) bind(C, name="leat_turn_text")
      import :: c_int, c_char, c_ptr
      character(kind=c_char), intent(in) :: parameter(*)
      type(c_ptr), intent(inout) :: text
    end function

    integer(c_int) function parts_c(port) bind(C, name="leat_parts")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: port(*)
    end function

    integer(c_int) function get_c(port, part, to, size) bind(C, name="leat_get_sized")
      import :: c_int, c_char, c_int64_t, part_t
      character(kind=c_char), intent(in) :: port(*)
      integer(c_int), value :: part
      type(part_t), intent(inout) :: to
      integer(c_int64_t), value :: size
    end function

    integer(c_int) function put_memory_c(bytes, memory) bind(C, name="leat_put_memory")
      import :: c_int, c_int64_t, c_ptr
      integer(c_int64_t), value :: bytes
      type(c_ptr), intent(out) :: memory
    end function

    integer(c_int) function put_c(port, data, type, dims, extents, unit, names) bind(C, name="leat_put_described")
      import :: c_int, c_char, c_int64_t, c_ptr
      character(kind=c_char), intent(in) :: port(*), unit(*)
      type(c_ptr), value :: data
      integer(c_int), value :: type, dims
      integer(c_int64_t), intent(in) :: extents(*)
      type(c_ptr), intent(in) :: names(*)
    end function

    type(c_ptr) function module_name_c() bind(C, name="leat_module_name")
      import :: c_ptr
    end function

    type(c_ptr) function module_option_c(name) bind(C, name="leat_module_option")
      import :: c_ptr, c_char
      character(kind=c_char), intent(in) :: name(*)
    end function

    integer(c_int) function module_log_c(level, text) bind(C, name="leat_module_log")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: level(*), text(*)
    end function

    type(c_ptr) function module_error_c() bind(C, name="leat_module_error")
      import :: c_ptr
    end function

    integer(c_size_t) function strlen(text) bind(C, name="strlen")
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
    end function
  end interface

  ! leat_turn_get(parameter, value [, stat, errmsg]): what the parameter is in the iteration of the turn. The value stays as it is
  ! after an error; a text is padded with blanks, or cut.
  interface leat_turn_get
    module procedure turn_get_int_32, turn_get_int_64, turn_get_real_32, turn_get_real_64, turn_get_text
  end interface

  ! leat_get(port, pointer [, part, stat, errmsg]): the first array that has come at the port, or that part.
  ! leat_put(port, array [, unit, names, stat, errmsg]): a number or an array, which is copied unless it is one of leat_put_memory.
  ! leat_put_memory(pointer, extents [, stat, errmsg]): memory to be filled and put, not associated where there is none.
  include "leat_module_names.inc"

contains

  ! Ends the turn, and waits for the next one. False: the run is over, and the program should end.
  logical function leat_wait()
    leat_wait = wait_c() == 1
  end function

  ! Whether all ranks of the node have ended the iteration: some may have died before.
  logical function leat_turn_complete()
    leat_turn_complete = turn_complete_c() == 1
  end function

  subroutine leat_turn_time(time, stat, errmsg)
    real(real64), intent(inout) :: time
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(turn_time_c(time), stat, errmsg)
  end subroutine

  ! How many arrays have come at the port; 0 where there are none, and after an error.
  integer function leat_parts(port)
    character(*), intent(in) :: port
    leat_parts = max(0, parts_c(trim(port) // c_null_char))
  end function

  ! All that is known of a part of a port, but its elements.
  subroutine leat_describe(port, part, description, stat, errmsg)
    character(*), intent(in) :: port
    integer, intent(in) :: part
    type(leat_description), intent(out) :: description
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(part_t) :: found
    integer :: status, n
    status = get_c(trim(port) // c_null_char, int(part - 1, c_int), found, c_sizeof(found))
    call report(status, stat, errmsg)
    if (status < 0) return
    n = found%dims
    description%type = found%type
    description%rank = found%rank
    description%block = found%block
    description%level = found%level
    description%iteration = found%iteration
    description%unit = text_at(found%unit)
    description%source = text_at(found%source)
    description%extent = found%extent(n:1:-1)
    description%ghosts_before = found%ghosts_before(n:1:-1)
    description%ghosts_after = found%ghosts_after(n:1:-1)
    if (found%has_position /= 0) description%position = found%position(n:1:-1) + 1
    if (found%has_global /= 0) description%global = found%global(n:1:-1)
  end subroutine

  function leat_module_name() result(text)
    character(:), allocatable :: text
    text = text_at(module_name_c())
  end function

  ! What the graph gives to this module; "" when it does not say it.
  function leat_module_option(name) result(text)
    character(*), intent(in) :: name
    character(:), allocatable :: text
    text = text_at(module_option_c(trim(name) // c_null_char))
  end function

  ! A line for the log of the run. level: "debug", "info", "warning", "error".
  subroutine leat_module_log(level, text)
    character(*), intent(in) :: level, text
    integer(c_int) :: status
    status = module_log_c(trim(level) // c_null_char, trim(text) // c_null_char)
    if (status < 0) return  ! it is printed
  end subroutine

  ! The message of the last call that failed.
  function leat_module_error() result(text)
    character(:), allocatable :: text
    text = text_at(module_error_c())
  end function

  subroutine report(status, stat, errmsg)
    integer(c_int), intent(in) :: status
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    if (present(errmsg) .and. status < 0) errmsg = leat_module_error()
    if (present(stat)) stat = status
  end subroutine

  ! Found here and not by the library, so leat_module_error() does not know it.
  subroutine report_misfit(message, status, stat, errmsg)
    character(*), intent(in) :: message
    integer(c_int), intent(in) :: status
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    if (present(errmsg)) errmsg = message
    if (present(stat)) then
      stat = status
    else
      call leat_module_log("warning", message)
    end if
  end subroutine

  ! found%data is not associated unless it is what is wanted.
  subroutine find(port, part, type, type_name, rank, found, stat, errmsg)
    character(*), intent(in) :: port, type_name
    integer, intent(in), optional :: part
    integer(c_int), intent(in) :: type, rank
    type(part_t), intent(out) :: found
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int) :: number, status
    character(160) :: what
    integer(c_int), parameter :: wrong_type = -5, wrong_shape = -6  ! LEAT_ERROR_TYPE and LEAT_ERROR_SHAPE
    number = 0
    if (present(part)) number = int(part - 1, c_int)
    status = get_c(trim(port) // c_null_char, number, found, c_sizeof(found))
    if (status < 0 .or. (found%type == type .and. found%dims == rank)) then
      call report(status, stat, errmsg)
      return
    end if
    write (what, "(3a, i0, a, i0, a, i0)") ": the pointer is for ", type_name, " of rank ", rank, &
      ", what came has leat_type ", found%type, " and rank ", found%dims
    found%data = c_null_ptr
    call report_misfit('leat_get: port "' // trim(port) // '"' // trim(what), &
      merge(wrong_shape, wrong_type, found%type == type), stat, errmsg)
  end subroutine

  subroutine hand_over(port, data, type, shape_, unit, names, stat, errmsg)
    character(*), intent(in) :: port
    type(c_ptr), intent(in) :: data
    integer(c_int), intent(in) :: type
    integer(c_int64_t), intent(in) :: shape_(:)
    character(*), intent(in), optional :: unit, names(:)
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), target :: letters(most_letters, most_dims)
    character(:), allocatable :: own_unit
    type(c_ptr) :: pointers(most_dims)
    integer(c_int64_t) :: extents(most_dims)
    integer :: d, i, n
    integer(c_int), parameter :: wrong_argument = -1  ! LEAT_ERROR_ARGUMENT
    n = size(shape_)
    own_unit = ""
    if (present(unit)) own_unit = trim(unit)
    pointers = c_null_ptr
    extents(1:n) = shape_(n:1:-1)
    if (present(names)) then
      if (size(names) /= n) then
        call report_misfit('leat_put: port "' // trim(port) // '": as many names as dimensions', wrong_argument, stat, errmsg)
        return
      end if
      letters = c_null_char
      do d = 1, n
        do i = 1, min(len_trim(names(n + 1 - d)), most_letters - 1)
          letters(i, d) = names(n + 1 - d)(i:i)
        end do
        pointers(d) = c_loc(letters(1, d))
      end do
    end if
    call report(put_c(trim(port) // c_null_char, data, type, int(n, c_int), extents, own_unit // c_null_char, pointers), &
      stat, errmsg)
  end subroutine

  subroutine turn_get_int_64(parameter, value, stat, errmsg)
    character(*), intent(in) :: parameter
    integer(int64), intent(inout) :: value
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(turn_int_c(trim(parameter) // c_null_char, value), stat, errmsg)
  end subroutine

  subroutine turn_get_int_32(parameter, value, stat, errmsg)
    character(*), intent(in) :: parameter
    integer(int32), intent(inout) :: value
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(int64) :: wide
    integer(c_int), parameter :: wrong_type = -5  ! LEAT_ERROR_TYPE
    wide = value
    call turn_get_int_64(parameter, wide, stat, errmsg)
    if (abs(wide) > huge(value)) then
      call report_misfit('leat_turn_get: the value of "' // trim(parameter) // '" does not fit integer(4): use integer(8)', &
        wrong_type, stat, errmsg)
    else
      value = int(wide, int32)
    end if
  end subroutine

  subroutine turn_get_real_64(parameter, value, stat, errmsg)
    character(*), intent(in) :: parameter
    real(real64), intent(inout) :: value
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report(turn_double_c(trim(parameter) // c_null_char, value), stat, errmsg)
  end subroutine

  subroutine turn_get_real_32(parameter, value, stat, errmsg)
    character(*), intent(in) :: parameter
    real(real32), intent(inout) :: value
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(real64) :: wide
    wide = value
    call turn_get_real_64(parameter, wide, stat, errmsg)
    value = real(wide, real32)
  end subroutine

  subroutine turn_get_text(parameter, value, stat, errmsg)
    character(*), intent(in) :: parameter
    character(*), intent(inout) :: value
    integer(c_int), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: text
    integer(c_int) :: status
    text = c_null_ptr
    status = turn_text_c(trim(parameter) // c_null_char, text)
    if (status == 0) value = text_at(text)
    call report(status, stat, errmsg)
  end subroutine

  function text_at(address) result(text)
    type(c_ptr), intent(in) :: address
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    text = ""
    if (.not. c_associated(address)) return
    call c_f_pointer(address, letters, [strlen(address)])
    text = repeat(" ", size(letters))
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function

  include "leat_module_bodies.inc"
end module leat_module
