// The loop that a C++ programmer writes by hand: pull PageRank with the division hoisted out of the edge loop, 32-bit
// ids, 64-bit offsets, and a dynamic schedule over chunks of equal edge count.
//   g++ -O3 -march=native -fopenmp -shared -fPIC pagerank.cpp
#include <cstdint>
#include <vector>
#include <omp.h>

// rank, share: float[n], rank is read and written. seconds: double[sweeps], how long each sweep took.
extern "C" void pagerank_sweeps(const uint64_t *offsets, const uint32_t *sources, const uint32_t *out_degree,
                                int64_t n, float damping, int sweeps, float *rank, float *share, int threads,
                                double *seconds) {
    omp_set_num_threads(threads);
    const uint64_t edges = offsets[n];
    const uint64_t per_chunk = (edges + n) / 256 + 1;
    std::vector<int64_t> cut{0};
    for (int64_t v = 0; v < n; v++)
        if (offsets[v + 1] + v + 1 >= cut.size() * per_chunk) cut.push_back(v + 1);
    if (cut.back() != n) cut.push_back(n);
    const int64_t chunks = (int64_t)cut.size() - 1;
    for (int sweep = 0; sweep < sweeps; sweep++) {
        const double begin = omp_get_wtime();
        double lost = 0;
#pragma omp parallel for reduction(+ : lost)
        for (int64_t v = 0; v < n; v++) {
            if (out_degree[v]) share[v] = rank[v] / (float)out_degree[v];
            else lost += rank[v];
        }
        const float base = (float)((1.0 - damping + damping * lost) / n);
#pragma omp parallel for schedule(dynamic, 1)
        for (int64_t c = 0; c < chunks; c++)
            for (int64_t v = cut[c]; v < cut[c + 1]; v++) {
                float sum = 0;
                for (uint64_t e = offsets[v]; e < offsets[v + 1]; e++) sum += share[sources[e]];
                rank[v] = base + damping * sum;
            }
        seconds[sweep] = omp_get_wtime() - begin;
    }
}
