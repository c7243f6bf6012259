// The memory limits of the machine: sequential reads, and random reads of 4 bytes.
//   g++ -O3 -march=native -fopenmp -shared -fPIC limits.cpp
#include <cstdint>
#include <omp.h>

// Reads values: uint64[count] once. seconds: double[1]. Returns the sum, so that the compiler keeps the reads.
extern "C" int64_t read_all(const uint64_t *values, int64_t count, int threads, double *seconds) {
    omp_set_num_threads(threads);
    const double start = omp_get_wtime();
    uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int64_t i = 0; i < count; i++) sum += values[i];
    seconds[0] = omp_get_wtime() - start;
    return (int64_t)sum;
}

// Reads values: uint32[mask + 1] `count` times. The index is a counter multiplied by a constant, which no prefetcher
// predicts.
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
