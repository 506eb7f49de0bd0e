! SPDX-License-Identifier: Apache-2.0
! fields.c in Fortran, by the names that Damaris has for it.
program fields
  use mpi
  use damaris
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none
  integer :: width, height, domains, is_client, ierr, steps
  character(len=64) :: config, word

  call MPI_Init(ierr)
  call get_command_argument(1, config)
  call get_command_argument(2, word)
  read(word, *) steps
  call damaris_initialize_f(config, MPI_COMM_WORLD, ierr)
  call must(ierr)
  call damaris_parameter_get_f("WIDTH", width, 4, ierr)
  call must(ierr)
  call damaris_parameter_get_f("HEIGHT ", height, 4, ierr)
  call must(ierr)
  call damaris_parameter_get_f("domains", domains, 4, ierr)
  call must(ierr)
  call damaris_start_f(is_client, ierr)
  call must(ierr)
  if (is_client > 0) call simulate()
  call damaris_finalize_f(ierr)
  call must(ierr)
  call MPI_Finalize(ierr)

contains

  subroutine must(status, wanted)
    integer, intent(in) :: status
    integer, intent(in), optional :: wanted
    integer :: code
    code = 0
    if (present(wanted)) code = wanted
    if (status == code) return
    write(*, *) "a call returned", status
    call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
  end subroutine

  subroutine simulate()
    integer :: comm, rank, size, rows, step, now, row, i, block
    integer(int64) :: position(2)
    real(8), allocatable :: u(:, :), x(:)
    integer, allocatable :: b(:, :)
    real(4), pointer :: w(:)
    type(c_ptr) :: memory

    call damaris_client_comm_get_f(comm, ierr)
    call must(ierr)
    call MPI_Comm_rank(comm, rank, ierr)
    call MPI_Comm_size(comm, size, ierr)
    call damaris_parameter_set_f("size", size, 4, ierr)
    call must(ierr)
    rows = height / size
    allocate(u(width, 0:rows + 1), x(width), b(width / domains, rows))
    do step = 0, steps - 1
      call damaris_get_iteration_f(now, ierr)
      call must(now, step)
      if (step == 0) then
        x = [(0.5d0 * i, i = 0, width - 1)]
        call damaris_write_f("coord/x", x, ierr)
        call must(ierr)
      end if
      u = -7
      do row = 1, rows
        u(:, row) = [(1000d0 * step + (rank * rows + row - 1) + 0.01d0 * i, i = 0, width - 1)]
      end do
      position = [int(rank * rows, int64), 0_int64]
      call damaris_set_position_f("fields/u", position, ierr)
      call must(ierr)
      call damaris_write_f("fields/u  ", u, ierr)
      call must(ierr)
      do block = 0, domains - 1
        b = 100 * step + 10 * rank + block
        position = [int(rank * rows, int64), int(block * (width / domains), int64)]
        call damaris_set_block_position_f("b", block, position, ierr)
        call must(ierr)
        call damaris_write_block_f("b", block, b, ierr)
        call must(ierr)
      end do
      position = [int(rank * rows, int64), 0_int64]
      call damaris_set_position_f("w", position, ierr)
      call must(ierr)
      if (step == 0) then
        memory = damaris_alloc_f("w", ierr)
      else
        memory = damaris_alloc_block_f("w", 0, ierr)
      end if
      call must(ierr)
      call c_f_pointer(memory, w, [rows * width])
      w = [(real(step + rank + 0.5d0 * i, 4), i = 0, rows * width - 1)]
      select case (step)
      case (0)
        call damaris_commit_f("w", ierr)
        call must(ierr)
        call damaris_clear_f("w", ierr)
      case (1)
        call damaris_commit_block_f("w", 0, ierr)
        call must(ierr)
        call damaris_clear_block_f("w", 0, ierr)
      case (2)
        call damaris_commit_iteration_f("w", step, ierr)
        call must(ierr)
        call damaris_clear_iteration_f("w", step, ierr)
      case default
        call damaris_commit_block_iteration_f("w", 0, step, ierr)
        call must(ierr)
        call damaris_clear_block_iteration_f("w", 0, step, ierr)
      end select
      call must(ierr)
      call damaris_signal_f("none", ierr)
      call get_environment_variable("LEAT", word)
      if (word /= "off") call must(ierr, 14)  ! DAMARIS_UNDEFINED_ACTION
      call damaris_end_iteration_f(ierr)
      call must(ierr)
    end do
    call damaris_stop_f(ierr)
    call must(ierr)
  end subroutine
end program
