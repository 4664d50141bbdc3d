/* An MPI program of a few lines: a token goes round all processes, then all add up a number. With an
 * argument it goes on adding until it is ended. */

#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
  int rank, size, token = 0, own, sum;
  char host[256];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  gethostname(host, sizeof host);

  /* The first process sends before it receives, or nobody would begin. */
  int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  if (rank == 0)
    MPI_Send(&token, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
  MPI_Recv(&token, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  token += rank;
  if (rank != 0)
    MPI_Send(&token, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
  else
    printf("the token comes back as %d\n", token);

  own = rank + 1;
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("%d of %d on %s: the sum is %d\n", rank, size, host, sum);
  fflush(stdout);
  while (argc > 1) {
    MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    usleep(10 * 1000);
  }

  MPI_Finalize();
  return 0;
}
