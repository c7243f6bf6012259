// Triangles as a C++ programmer counts them: vertices ranked by degree, every edge kept at its end of lower rank, lists
// sorted, and the lists of both ends of every kept edge merged (Schank, Wagner, WEA 2005, "forward").
//   g++ -O3 -march=native -fopenmp -shared -fPIC triangles.cpp
#include <algorithm>
#include <cstdint>
#include <vector>
#include <omp.h>

// offsets: uint64[n + 1] and targets: uint32[edges], every edge at both of its ends; loops and repeated edges are left
// out. seconds: double[2], to order the adjacency and to count. Returns the number of triangles.
extern "C" int64_t triangles(const uint64_t *offsets, const uint32_t *targets, int64_t n, int threads,
                             double *seconds) {
    omp_set_num_threads(threads);
    const double start = omp_get_wtime();
    std::vector<uint64_t> keys(n);
#pragma omp parallel for
    for (int64_t v = 0; v < n; v++) keys[v] = (offsets[v + 1] - offsets[v]) << 32 | (uint64_t)v;
    std::sort(keys.begin(), keys.end(), [](uint64_t a, uint64_t b) { return a > b; });
    std::vector<uint32_t> rank(n), vertex(n);  // hubs first, so that the kept lists are short
#pragma omp parallel for
    for (int64_t r = 0; r < n; r++) {
        vertex[r] = (uint32_t)keys[r];
        rank[vertex[r]] = (uint32_t)r;
    }
    std::vector<uint64_t> begins(n + 1, 0), ends(n);
#pragma omp parallel for schedule(dynamic, 256)
    for (int64_t r = 0; r < n; r++) {
        uint64_t kept = 0;
        for (uint64_t e = offsets[vertex[r]]; e < offsets[vertex[r] + 1]; e++) kept += rank[targets[e]] < r;
        begins[r + 1] = kept;
    }
    for (int64_t r = 0; r < n; r++) begins[r + 1] += begins[r];
    std::vector<uint32_t> lists(begins[n]);
#pragma omp parallel for schedule(dynamic, 256)
    for (int64_t r = 0; r < n; r++) {
        uint64_t at = begins[r];
        for (uint64_t e = offsets[vertex[r]]; e < offsets[vertex[r] + 1]; e++)
            if (rank[targets[e]] < r) lists[at++] = rank[targets[e]];
        std::sort(lists.begin() + begins[r], lists.begin() + at);
        ends[r] = std::unique(lists.begin() + begins[r], lists.begin() + at) - lists.begin();
    }
    const double ordered = omp_get_wtime();
    int64_t total = 0;
#pragma omp parallel for schedule(dynamic, 64) reduction(+ : total)
    for (int64_t r = 0; r < n; r++)
        for (uint64_t e = begins[r]; e < ends[r]; e++) {
            const uint32_t s = lists[e];
            uint64_t i = begins[r], j = begins[s];
            while (i < ends[r] && j < ends[s]) {
                const uint32_t x = lists[i], y = lists[j];
                total += x == y;
                i += x <= y;
                j += y <= x;
            }
        }
    seconds[0] = ordered - start;
    seconds[1] = omp_get_wtime() - ordered;
    return total;
}
