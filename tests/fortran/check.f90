! SPDX-License-Identifier: BSD-3-Clause
! What a test program asks of what it finds: check(what, condition) counts and names what is wrong, finish() ends
! the process with 1 if anything was.
module check_module
  implicit none
  integer :: wrong = 0
contains
  subroutine check(what, condition)
    character(len=*), intent(in) :: what
    logical, intent(in) :: condition
    if (condition) return
    wrong = wrong + 1
    print '(2a)', 'wrong: ', what
  end subroutine

  subroutine finish()
    if (wrong > 0) error stop 1
  end subroutine
end module
