! SPDX-License-Identifier: Apache-2.0
! What Fortran adds to the C call, and what a strided section costs beside packing it by hand. The two of a pair take turns in
! one run. fortran_bench.xml is written by the CMake file beside it.
program fortran_bench
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use leat
  implicit none
  integer, parameter :: n = 1024, m = 128, rounds = 1000  ! n x m doubles are 1 MiB
  real(real64), allocatable, target :: u(:, :), wide(:, :), buffer(:, :)
  integer(int64) :: t(rounds, 4), start
  integer :: i, j, k, round, stat

  interface
    integer(c_int) function c_write(variable, data) bind(C, name="leat_write")
      import :: c_int, c_char, c_ptr
      character(kind=c_char), intent(in) :: variable(*)
      type(c_ptr), value :: data
    end function
  end interface

  allocate (u(n, m), wide(2 * n, m), buffer(n, m))
  u = 1
  wide = 2
  call leat_init("fortran_bench.xml", stat)
  if (stat /= 0) error stop 1
  do round = 1, rounds
    do k = 1, 4
      start = now()
      select case (merge(k, 5 - k, mod(round, 2) == 0))
      case (1)
        stat = c_write("c" // c_null_char, c_loc(u))
        t(round, 1) = now() - start
      case (2)
        call leat_write("fortran", u)
        t(round, 2) = now() - start
      case (3)
        do j = 1, m
          do i = 1, n
            buffer(i, j) = wide(2 * i - 1, j)
          end do
        end do
        stat = c_write("packed" // c_null_char, c_loc(buffer))
        t(round, 3) = now() - start
      case (4)
        call leat_write("strided", wide(::2, :))
        t(round, 4) = now() - start
      end select
    end do
    call leat_end_iteration()
    start = now()
    do while (now() - start < 100000)
    end do
  end do
  call leat_finalize(stat)
  print "(/, a)", "Fortran, 1 MiB of real(8), p50:"
  call compare("leat_write, over C's", t(:, 2), t(:, 1), 1.05)
  call compare("leat_write of u(::2, :), over packing by hand", t(:, 4), t(:, 3), 1.0)
contains
  integer(int64) function now()
    call system_clock(now)
  end function

  integer(int64) function median(times)
    integer(int64), intent(in) :: times(:)
    integer(int64) :: sorted(size(times)), moved
    integer :: a, b
    sorted = times
    do a = 2, size(sorted)
      moved = sorted(a)
      b = a - 1
      do while (b > 0)
        if (sorted(b) <= moved) exit
        sorted(b + 1) = sorted(b)
        b = b - 1
      end do
      sorted(b + 1) = moved
    end do
    median = sorted(size(sorted) / 2)
  end function

  subroutine compare(what, ours, theirs, aim)
    character(*), intent(in) :: what
    integer(int64), intent(in) :: ours(:), theirs(:)
    real, intent(in) :: aim
    real :: ratio
    ratio = real(median(ours)) / real(median(theirs))
    print "(2x, a, t55, f6.2, ' us over ', f6.2, ' us: ', f5.2, ' x, aim ', f4.2, ': ', a)", what, median(ours) / 1000., &
      median(theirs) / 1000., ratio, aim, trim(merge("reached    ", "NOT reached", ratio <= aim))
  end subroutine
end program
