! Computes pi: each rank adds up every size-th strip under 4 / (1 + x^2).
program pi
  use mpi
  implicit none
  integer, parameter :: wide = selected_int_kind(15)
  integer(wide), parameter :: strips = 100000000
  integer(wide) :: i
  integer :: rank, size, ierror
  double precision :: x, part, total

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  part = 0
  ! Compiled with OpenMP for GPUs, the loop runs on the rank's GPU.
  !$omp target teams distribute parallel do private(x) reduction(+:part)
  do i = rank, strips - 1, size
    x = (i + 0.5d0) / strips
    part = part + 4 / (1 + x * x) / strips
  end do
  call MPI_Reduce(part, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierror)
  if (rank == 0) print '(a, f10.8, a, i0, a)', 'pi is ', total, ', by ', size, ' ranks'
  call MPI_Finalize(ierror)
end program
