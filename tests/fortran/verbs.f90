! SPDX-License-Identifier: Apache-2.0
! What the matrix does not show: messages, leat_alloc, order, optional arguments. test_fortran.py reads what it prints.
program verbs
  use leat
  use, intrinsic :: iso_fortran_env
  implicit none
  real(real64), pointer :: p(:, :)
  real(real32), pointer :: wrong(:, :)
  real(real64) :: u(3, 2)
  integer :: stat, x, y
  character(300) :: message

  call leat_write("u", u, stat=stat, errmsg=message)
  call say("before init")
  call leat_init("verbs.xml", stat, message)
  call say("init")
  call leat_set_int("nx", 3)
  call leat_set_int("ny", 2_int64)
  call leat_set_double("dt", 0.5)
  call leat_set_string("title", "dam break  ")
  call get_all()
  do y = 1, 2
    do x = 1, 3
      u(x, y) = 10 * x + y
    end do
  end do
  call leat_write("u", real(u, real32), stat=stat, errmsg=message)
  call say("kind")
  call leat_write("u", u(1:2, :), stat=stat, errmsg=message)
  call say("shape")
  call leat_write("u", u(:, 1), stat=stat, errmsg=message)
  call say("rank")
  call leat_write("uu", u, stat=stat, errmsg=message)
  call say("name")
  call leat_write("u   ", u)
  call leat_set_position("part", [3, 1])
  call leat_write("part", u(1:2, 1:2))
  call wrong_lists()
  call levels()
  call leat_alloc("p", p)
  p = u
  call leat_commit("p")
  if (associated(wrong)) nullify(wrong)
  call leat_alloc("q", wrong, stat=stat, errmsg=message)
  call say("alloc")
  if (associated(wrong)) error stop 3
  if (.not. leat_wanted("u")) error stop 4
  if (leat_iteration() /= 0) error stop 5
  call leat_signal("mark ")
  call leat_idle_begin("exchange ")
  call leat_idle_end()
  call leat_after_collective(0)
  call leat_end_iteration()
  print "(a)", "last error: " // leat_last_error()
  print "(a)", "status: " // leat_status_name(LEAT_ERROR_FULL)
  call leat_finalize(stat, message)
  call say("finalize")
contains
  ! What was set above, into all kinds; what fails leaves the value alone.
  subroutine get_all()
    integer(int32) :: short
    integer(int64) :: long
    real(real32) :: single
    real(real64) :: double
    character(12) :: title
    character(4) :: little
    call leat_get("nx", short)
    call leat_get("ny  ", long)
    if (short /= 3 .or. long /= 2) error stop 6
    call leat_get("dt", single)
    call leat_get("dt", double)
    if (abs(single - 0.5) > 0 .or. abs(double - 0.5) > 0) error stop 7
    call leat_get_double("nx", double)
    if (abs(double - 3) > 0) error stop 8
    call leat_get("title", title)
    if (title /= "dam break") error stop 9
    call leat_get_int("many", long)
    if (long /= 5000000000_int64) error stop 10
    call leat_get("dt", short, stat, message)
    call say("get of a wrong kind")
    call leat_get("dtt", double, stat, message)
    call say("get of nothing")
    call leat_get_int("many", short, stat, message)
    call say("get of many")
    little = "mine"
    call leat_get_string("title", little, stat, message)
    call say("get of a long text")
    if (short /= 3 .or. abs(double - 3) > 0 .or. little /= "mine") error stop 11
  end subroutine

  ! Too few, too many, more than there can be dimensions; then what is right, in Fortran's order.
  subroutine wrong_lists()
    integer(int64) :: twenty(20)
    real(real64) :: s(3, 2, 2)
    twenty = 1
    call leat_set_position("u", [1], stat=stat, errmsg=message)
    call say("one number for two dimensions")
    call leat_set_position("u", [1, 1, 1], stat=stat, errmsg=message)
    call say("three numbers for two dimensions")
    call leat_set_position("u", twenty, stat=stat, errmsg=message)
    call say("twenty numbers")
    call leat_set_extent("part", twenty(1:20:2), stat=stat, errmsg=message)
    call say("ten extents")
    call leat_set_extent("part", [integer ::], stat=stat, errmsg=message)
    call say("no extents")
    s = 0
    call leat_set_position("s", [1, 5, 1], stat=stat, errmsg=message)
    call leat_write("s", s, stat=stat, errmsg=message)
    call say("outside")
    call leat_write("s", reshape(s, [2, 3, 2]), stat=stat, errmsg=message)
    call say("turned round")
  end subroutine

  subroutine levels()
    real(real64) :: rho(3, 2, 1)
    rho = 1
    call leat_signal("marks", stat, message)
    call say("signal")
    call leat_write("rho", rho, block=4, stat=stat, errmsg=message)
    call say("without a level")
    call leat_set_level("patches", 2, [1, 1, 1], 4, stat=stat, errmsg=message)
    call say("level")
    call leat_set_level("patches", 1, [1, 1], block=4, stat=stat, errmsg=message)
    call say("place in a level")
    call leat_set_level("patches", 1, [7_int64, 3_int64, 2_int64], 4)
    call leat_write("rho", rho, block=4)
  end subroutine

  subroutine say(what)
    character(*), intent(in) :: what
    print "(a, ': ', i0, ' ', a)", what, stat, trim(message)
    message = ""
  end subroutine
end program
