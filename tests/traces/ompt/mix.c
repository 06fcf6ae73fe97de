/* Each construct that orders tasks: 11 tasks of one thread, then 2 of every thread. */
#include <unistd.h>

static void work(void)
{
    usleep(200);
}

int main(void)
{
    int x = 0, y = 0;
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 3; i++) {
#pragma omp task depend(in : x)
            work();
        }
#pragma omp task depend(inout : x)
        work();
#pragma omp taskwait
#pragma omp taskgroup
        {
#pragma omp task
            {
#pragma omp task
                work();
                work();
            }
        }
        for (int i = 0; i < 2; i++) {
#pragma omp task depend(mutexinoutset : y)
            work();
        }
#pragma omp task depend(in : y)
        work();
#pragma omp taskwait depend(in : y)
#pragma omp task
        {
#pragma omp task
            work();
            work();
#pragma omp taskwait
            work();
        }
    }
#pragma omp parallel
    {
#pragma omp task
        work();
#pragma omp barrier
#pragma omp task
        work();
    }
}
