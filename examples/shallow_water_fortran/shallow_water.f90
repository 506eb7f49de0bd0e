! SPDX-License-Identifier: Apache-2.0
!
! A dam breaks, and the wave runs over an island.
!
! Two-dimensional shallow-water equations over a bottom b(x, y),
!
!     h_t  + (hu)_x + (hv)_y = 0
!     hu_t + (hu^2 + g h^2 / 2)_x + (huv)_y = -g h b_x
!     hv_t + (huv)_x + (hv^2 + g h^2 / 2)_y = -g h b_y
!
! by finite volumes of first order: Rusanov's flux with the hydrostatic reconstruction of Audusse et al. (SIAM J. Sci.
! Comput. 25, 2004), so that a lake at rest stays at rest and dry land stays dry. The basin has walls; water is conserved.
!
! Each rank has `rows` rows of the basin, and one ghost cell around them. A cell is computed from its neighbours by the same
! operations on any number of ranks, so the results are equal to the last bit.
!
!     mpirun -n 4 shallow_water shallow_water.xml 600
!
! The same line again goes on behind the newest checkpoint, on any number of ranks.
!
program shallow_water
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi_f08
  use leat
  use leat_mpi, only: leat_init_mpi, leat_split
  implicit none

  integer, parameter :: nx = 200, ny = 100
  real(real64), parameter :: dx = 1, dy = 1, dt = 0.02_real64, g = 9.81_real64, dry = 1e-8_real64

  ! x, y; one ghost cell on each side
  real(real64), allocatable, dimension(:, :) :: h, hu, hv, b, new_h, new_hu, new_hv
  integer :: rank, ranks, rows, first, steps, stat
  integer(int64) :: step
  character(200) :: config, word
  type(MPI_Comm) :: simulation  ! the ranks that compute

  call MPI_Init()
  call get_command_argument(1, config)
  ! region split
  call leat_split(config, MPI_COMM_WORLD, simulation, stat)
  if (stat == LEAT_SERVED) then
    call MPI_Finalize()
    stop
  end if
  ! end region
  if (stat /= LEAT_OK) call end_with_error()
  call MPI_Comm_rank(simulation, rank)
  call MPI_Comm_size(simulation, ranks)
  call get_command_argument(2, word)
  read (word, *, iostat=stat) steps
  if (stat /= 0 .or. mod(ny, ranks) /= 0) then
    if (rank == 0) print "(a, i0)", "usage: shallow_water LEAT.xml STEPS, on a number of ranks that divides ", ny
    call end_with_error()
  end if
  rows = ny / ranks
  first = rank * rows + 1  ! of our rows in the basin, counted from 1

  call fill_basin()

  ! region set-up
  call leat_init_mpi(config, simulation)
  call leat_set_ints("rows, before", [rows, first - 1])
  call leat_set_double("dx", dx)
  call leat_set_double("dy", dy)
  ! end region

  ! region restart
  step = 0
  call leat_restart_step(step)
  if (step > 0) then
    call leat_read("depth", h)
    call leat_read("hu", hu)
    call leat_read("hv", hv)
  end if
  ! end region

  call leat_write("bottom", b(1:nx, 1:rows))  ! a section; it never changes
  do step = step, steps - 1
    if (step > 0) call advance()
    ! region write
    call leat_write("depth", h)  ! with its ghost cells: Leat leaves them out
    call leat_write("hu", hu)
    call leat_write("hv", hv)
    call leat_end_iteration()
    ! end region
  end do

  call leat_finalize(stat)
  call MPI_Finalize()
  if (stat /= 0) error stop 1

contains

  ! Open MPI may cut off what was printed just before MPI_Abort.
  subroutine end_with_error()
    call MPI_Finalize()
    error stop 1
  end subroutine

  ! Water of 8 m behind a dam, of 2 m before it, and an island that rises 5 m above the ground.
  subroutine fill_basin()
    integer :: x, y
    real(real64) :: px, py, level
    allocate (h(0:nx + 1, 0:rows + 1), b(0:nx + 1, 0:rows + 1))
    allocate (hu, hv, new_h, new_hu, new_hv, mold=h)
    do y = 0, rows + 1
      do x = 0, nx + 1
        ! The cells beyond the walls have the bottom of those before them.
        px = (min(max(x, 1), nx) - 0.5_real64) * dx
        py = (min(max(first + y - 1, 1), ny) - 0.5_real64) * dy
        b(x, y) = 5 * exp(-((px - 130)**2 + (py - 50)**2) / 200)
        level = merge(8.0_real64, 2.0_real64, px < 60)
        h(x, y) = max(0.0_real64, level - b(x, y))
      end do
    end do
    hu = 0
    hv = 0
  end subroutine

  ! Rows next to ours, from the ranks above and below; `normal` is -1 for what turns round at the upper and lower wall.
  subroutine exchange(field, normal)
    real(real64), intent(inout) :: field(0:, 0:)
    integer, intent(in) :: normal
    integer :: below, above
    below = merge(rank - 1, MPI_PROC_NULL, rank > 0)
    above = merge(rank + 1, MPI_PROC_NULL, rank < ranks - 1)
    call MPI_Sendrecv(field(:, 1), nx + 2, MPI_DOUBLE_PRECISION, below, 0, &
                      field(:, rows + 1), nx + 2, MPI_DOUBLE_PRECISION, above, 0, simulation, MPI_STATUS_IGNORE)
    call MPI_Sendrecv(field(:, rows), nx + 2, MPI_DOUBLE_PRECISION, above, 1, &
                      field(:, 0), nx + 2, MPI_DOUBLE_PRECISION, below, 1, simulation, MPI_STATUS_IGNORE)
    if (rank == 0) field(:, 0) = normal * field(:, 1)
    if (rank == ranks - 1) field(:, rows + 1) = normal * field(:, rows)
  end subroutine

  ! Left and right wall.
  subroutine put_walls()
    h(0, :) = h(1, :)
    h(nx + 1, :) = h(nx, :)
    hu(0, :) = -hu(1, :)
    hu(nx + 1, :) = -hu(nx, :)
    hv(0, :) = hv(1, :)
    hv(nx + 1, :) = hv(nx, :)
  end subroutine

  subroutine advance()
    integer :: x, y
    real(real64), dimension(3) :: west, east, south, north, ignored
    call exchange(h, 1)
    call exchange(hu, 1)
    call exchange(hv, -1)
    call put_walls()
    do y = 1, rows
      do x = 1, nx
        ! Each face is computed from the same numbers by both of its cells, so what one loses the other gains.
        call flux(h(x - 1, y), hu(x - 1, y), hv(x - 1, y), b(x - 1, y), h(x, y), hu(x, y), hv(x, y), b(x, y), ignored, west)
        call flux(h(x, y), hu(x, y), hv(x, y), b(x, y), h(x + 1, y), hu(x + 1, y), hv(x + 1, y), b(x + 1, y), east, ignored)
        ! In y the normal momentum is hv.
        call flux(h(x, y - 1), hv(x, y - 1), hu(x, y - 1), b(x, y - 1), h(x, y), hv(x, y), hu(x, y), b(x, y), ignored, south)
        call flux(h(x, y), hv(x, y), hu(x, y), b(x, y), h(x, y + 1), hv(x, y + 1), hu(x, y + 1), b(x, y + 1), north, ignored)
        new_h(x, y) = h(x, y) - dt / dx * (east(1) - west(1)) - dt / dy * (north(1) - south(1))
        new_hu(x, y) = hu(x, y) - dt / dx * (east(2) - west(2)) - dt / dy * (north(3) - south(3))
        new_hv(x, y) = hv(x, y) - dt / dx * (east(3) - west(3)) - dt / dy * (north(2) - south(2))
        if (new_h(x, y) < dry) then
          new_hu(x, y) = 0
          new_hv(x, y) = 0
        end if
      end do
    end do
    h(1:nx, 1:rows) = new_h(1:nx, 1:rows)
    hu(1:nx, 1:rows) = new_hu(1:nx, 1:rows)
    hv(1:nx, 1:rows) = new_hv(1:nx, 1:rows)
  end subroutine

  ! Flux of (h, normal momentum, tangential momentum) through the face between a left and a right cell, as each of them sees
  ! it: the slope of the bottom presses differently on both.
  pure subroutine flux(h_l, n_l, t_l, b_l, h_r, n_r, t_r, b_r, of_left, of_right)
    real(real64), intent(in) :: h_l, n_l, t_l, b_l, h_r, n_r, t_r, b_r
    real(real64), intent(out) :: of_left(3), of_right(3)
    real(real64) :: top, hs_l, hs_r, u_l, u_r, v_l, v_r, fastest, middle(3)
    top = max(b_l, b_r)
    hs_l = max(0.0_real64, h_l + b_l - top)
    hs_r = max(0.0_real64, h_r + b_r - top)
    u_l = speed(h_l, n_l)
    u_r = speed(h_r, n_r)
    v_l = speed(h_l, t_l)
    v_r = speed(h_r, t_r)
    fastest = max(abs(u_l) + sqrt(g * hs_l), abs(u_r) + sqrt(g * hs_r))
    middle(1) = 0.5_real64 * (hs_l * u_l + hs_r * u_r) - 0.5_real64 * fastest * (hs_r - hs_l)
    middle(2) = 0.5_real64 * (hs_l * u_l**2 + 0.5_real64 * g * hs_l**2 + hs_r * u_r**2 + 0.5_real64 * g * hs_r**2) &
                - 0.5_real64 * fastest * (hs_r * u_r - hs_l * u_l)
    middle(3) = 0.5_real64 * (hs_l * u_l * v_l + hs_r * u_r * v_r) - 0.5_real64 * fastest * (hs_r * v_r - hs_l * v_l)
    of_left = middle
    of_right = middle
    of_left(2) = middle(2) + 0.5_real64 * g * (h_l**2 - hs_l**2)
    of_right(2) = middle(2) + 0.5_real64 * g * (h_r**2 - hs_r**2)
  end subroutine

  pure real(real64) function speed(depth, momentum)
    real(real64), intent(in) :: depth, momentum
    speed = merge(momentum / max(depth, dry), 0.0_real64, depth > dry)
  end function
end program
