// What the machine allows: reading in order, and reading 4 bytes at random places.
//   g++ -O3 -march=native -fopenmp -shared -fPIC limits.cpp
#include <cstdint>
#include <omp.h>

// values: uint64[count], read once. seconds: double[1]. Their sum, so that they are read.
extern "C" int64_t read_all(const uint64_t *values, int64_t count, int threads, double *seconds) {
    omp_set_num_threads(threads);
    const double start = omp_get_wtime();
    uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int64_t i = 0; i < count; i++) sum += values[i];
    seconds[0] = omp_get_wtime() - start;
    return (int64_t)sum;
}

// `count` reads of values: uint32[mask + 1], at places of a counter mixed by a multiplication, which no cache foresees.
extern "C" int64_t gather(const uint32_t *values, int64_t mask, int64_t count, int threads, double *seconds) {
    omp_set_num_threads(threads);
    const double start = omp_get_wtime();
    uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int64_t i = 0; i < count; i++) {
        const uint64_t mixed = (uint64_t)i * 0x9E3779B97F4A7C15u;
        sum += values[((mixed >> 32) ^ (mixed >> 13)) & (uint64_t)mask];
    }
    seconds[0] = omp_get_wtime() - start;
    return (int64_t)sum;
}
