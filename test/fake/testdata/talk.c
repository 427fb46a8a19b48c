/* talk ROUNDS communicates as often as a small molecular dynamics simulation: each round
   computes for about a millisecond, exchanges 8 KiB with both neighbors, and sums over
   all ranks. It prints the seconds that its rounds took. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { cells = 1024 };

int main(int argc, char **argv) {
  int rank, size, rounds = argc > 1 ? atoi(argv[1]) : 1000;
  static double here[cells], left[cells], right[cells];
  double sum = 0, all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int up = (rank + 1) % size, down = (rank + size - 1) % size;
  for (int i = 0; i < cells; i++) here[i] = rank + i;
  MPI_Barrier(MPI_COMM_WORLD);
  double began = MPI_Wtime();
  for (int n = 0; n < rounds; n++) {
    MPI_Sendrecv(here, cells, MPI_DOUBLE, up, 0, left, cells, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(here, cells, MPI_DOUBLE, down, 1, right, cells, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sum = 0;
    for (int k = 0; k < 640; k++)
      for (int i = 0; i < cells; i++) {
        here[i] = (here[i] * 2 + left[i] + right[i]) / 4;
        sum += here[i];
      }
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("took %.4f s, %d ranks, sum %.3e\n", MPI_Wtime() - began, size, all);
  MPI_Finalize();
  return 0;
}
