/* Tiled Cholesky with OpenMP tasks, to try the tool on: ./cholesky [tiles a side] [size of a tile]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int tiles = 6, size = 48;

static void potrf(double *a)
{
    for (int k = 0; k < size; k++) {
        a[k * size + k] = sqrt(a[k * size + k]);
        for (int i = k + 1; i < size; i++)
            a[i * size + k] /= a[k * size + k];
        for (int i = k + 1; i < size; i++)
            for (int j = k + 1; j <= i; j++)
                a[i * size + j] -= a[i * size + k] * a[j * size + k];
    }
}

/* Solves x * l^T = x for a lower triangular l. */
static void trsm(const double *l, double *x)
{
    for (int i = 0; i < size; i++)
        for (int k = 0; k < size; k++) {
            for (int j = 0; j < k; j++)
                x[i * size + k] -= x[i * size + j] * l[k * size + j];
            x[i * size + k] /= l[k * size + k];
        }
}

/* c -= a * b^T. */
static void gemm(const double *a, const double *b, double *c)
{
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++)
            for (int k = 0; k < size; k++)
                c[i * size + j] -= a[i * size + k] * b[j * size + k];
}

static void factorise(double **a)
{
#define TILE(i, j) a[(i) * tiles + (j)][0]
    for (int k = 0; k < tiles; k++) {
#pragma omp task depend(inout : TILE(k, k))
        potrf(&TILE(k, k));
        for (int i = k + 1; i < tiles; i++) {
#pragma omp task depend(in : TILE(k, k)) depend(inout : TILE(i, k))
            trsm(&TILE(k, k), &TILE(i, k));
        }
        for (int i = k + 1; i < tiles; i++) {
#pragma omp task depend(in : TILE(i, k)) depend(inout : TILE(i, i))
            gemm(&TILE(i, k), &TILE(i, k), &TILE(i, i));
            for (int j = k + 1; j < i; j++) {
#pragma omp task depend(in : TILE(i, k), TILE(j, k)) depend(inout : TILE(i, j))
                gemm(&TILE(i, k), &TILE(j, k), &TILE(i, j));
            }
        }
    }
#pragma omp taskwait
}

int main(int n, char **words)
{
    if (n > 1)
        tiles = atoi(words[1]);
    if (n > 2)
        size = atoi(words[2]);
    double **a = calloc((size_t)(tiles * tiles), sizeof *a);
    for (int t = 0; t < tiles * tiles; t++) {
        a[t] = calloc((size_t)(size * size), sizeof **a);
        for (int e = 0; e < size * size; e++)
            a[t][e] = t / tiles == t % tiles && e / size == e % size ? 2.0 * tiles * size : 1.0;
    }
#pragma omp parallel
#pragma omp single
    factorise(a);
    printf("%.12f\n", a[tiles * tiles - 1][size * size - 1]);
}
