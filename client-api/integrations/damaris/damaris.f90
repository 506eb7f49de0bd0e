! SPDX-License-Identifier: Apache-2.0
! Module damaris, as that of Damaris: what a program needs to declare the functions. All else is called without it.
module damaris
  use iso_c_binding
  implicit none
  interface
    type(c_ptr) function damaris_alloc_f(varname, ierr)
      import
      character(len=*) :: varname
      integer :: ierr
    end function
    type(c_ptr) function damaris_alloc_block_f(varname, block, ierr)
      import
      character(len=*) :: varname
      integer :: block, ierr
    end function
  end interface
end module
