// Betweenness by levels, as a C++ programmer writes it: Brandes (Journal of Mathematical Sociology 25, 2001), forward by
// queues of equal depth that push depths and path counts with atomics, backward over the same queues, each vertex
// pulling from its successors. 32-bit ids, 64-bit offsets, tasks of a few vertices taken dynamically.
//   g++ -O3 -march=native -fopenmp -shared -fPIC betweenness.cpp
#include <cstddef>
#include <cstdint>
#include <vector>
#include <omp.h>

namespace {

// Appends the next level to the queue: every out-neighbour without a depth, once. Path counts are added atomically.
void expand(const uint64_t *offsets, const uint32_t *targets, int32_t next, const std::vector<uint32_t> &queue,
            int64_t begin, int64_t end, int32_t *depth, float *paths, uint32_t *found, int64_t *size) {
#pragma omp parallel
    {
        std::vector<uint32_t> mine;
#pragma omp for schedule(dynamic, 64) nowait
        for (int64_t i = begin; i < end; i++) {
            const uint32_t u = queue[i];
            for (uint64_t e = offsets[u]; e < offsets[u + 1]; e++) {
                const uint32_t v = targets[e];
                int32_t seen = __atomic_load_n(&depth[v], __ATOMIC_RELAXED);
                if (seen == -1 && __atomic_compare_exchange_n(&depth[v], &seen, next, false, __ATOMIC_RELAXED,
                                                              __ATOMIC_RELAXED)) {
                    mine.push_back(v);
                    seen = next;
                }
                if (seen == next) {
#pragma omp atomic
                    paths[v] += paths[u];
                }
            }
        }
        const int64_t at = __atomic_fetch_add(size, (int64_t)mine.size(), __ATOMIC_RELAXED);
        for (std::size_t i = 0; i < mine.size(); i++) found[at + i] = mine[i];
    }
}

}  // namespace

// offsets: uint64[n + 1] and targets: uint32[edges], the out-edges. score: float[n], cleared first. seconds: double[1].
extern "C" void betweenness(const uint64_t *offsets, const uint32_t *targets, int64_t n, const uint32_t *sources,
                            int64_t count, float *score, int threads, double *seconds) {
    omp_set_num_threads(threads);
    std::vector<int32_t> depth(n);
    std::vector<float> paths(n), share(n);
    std::vector<uint32_t> queue(n);
    std::vector<int64_t> levels;
    const double start = omp_get_wtime();
#pragma omp parallel for
    for (int64_t v = 0; v < n; v++) score[v] = 0;
    for (int64_t k = 0; k < count; k++) {
#pragma omp parallel for
        for (int64_t v = 0; v < n; v++) depth[v] = -1, paths[v] = 0, share[v] = 0;
        const uint32_t source = sources[k];
        depth[source] = 0, paths[source] = 1, queue[0] = source;
        levels.assign({0, 1});
        for (int64_t size = 1; levels.back() > levels[levels.size() - 2];) {
            const int64_t begin = levels[levels.size() - 2], end = levels.back();
            expand(offsets, targets, (int32_t)levels.size() - 1, queue, begin, end, depth.data(), paths.data(),
                   queue.data(), &size);
            levels.push_back(size);
        }
        for (int64_t level = (int64_t)levels.size() - 2; level-- > 0;) {
#pragma omp parallel for schedule(dynamic, 64)
            for (int64_t i = levels[level]; i < levels[level + 1]; i++) {
                const uint32_t u = queue[i];
                float due = 0;
                for (uint64_t e = offsets[u]; e < offsets[u + 1]; e++) {
                    const uint32_t v = targets[e];
                    if (depth[v] == level + 1) due += paths[u] / paths[v] * (1 + share[v]);
                }
                share[u] = due;
                if (u != source) score[u] += due;
            }
        }
    }
    seconds[0] = omp_get_wtime() - start;
}
