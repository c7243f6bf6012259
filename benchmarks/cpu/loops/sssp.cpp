// Shortest distances as a C++ programmer writes them: delta-stepping over buckets of each thread, where a thread
// continues with its own bucket while that is small (Meyer, Sanders: Delta-stepping: a parallelizable shortest path
// algorithm, J. Algorithms 49, 2003; Beamer, Asanovic, Patterson: The GAP benchmark suite, 2015; Zhang et al.:
// Optimizing ordered graph algorithms with GraphIt, CGO'20, section 4.3). A neighbour and its weight are adjacent in
// memory.
//   g++ -O3 -march=native -fopenmp -shared -fPIC sssp.cpp
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>
#include <omp.h>

struct Edge {
    uint32_t to;
    float weight;
};

static constexpr uint64_t NO_BIN = std::numeric_limits<uint64_t>::max() / 2;
static constexpr size_t FUSED = 1000;

static inline void relax(const uint64_t *offsets, const Edge *edges, float delta, std::atomic<float> *dist,
                         std::vector<std::vector<uint32_t>> &bins, uint32_t u) {
    const float from = dist[u].load(std::memory_order_relaxed);
    for (uint64_t e = offsets[u]; e < offsets[u + 1]; e++) {
        const uint32_t v = edges[e].to;
        const float next = from + edges[e].weight;
        float old = dist[v].load(std::memory_order_relaxed);
        while (next < old)
            if (dist[v].compare_exchange_weak(old, next, std::memory_order_relaxed)) {
                const size_t bin = (size_t)(next / delta);
                if (bin >= bins.size()) bins.resize(bin + 1);
                bins[bin].push_back(v);
                break;
            }
    }
}

// Writes dist: float[n], infinite for unreachable vertices. weights are not negative. Returns the number of buckets.
extern "C" int64_t sssp_delta(const uint64_t *offsets, const Edge *edges, int64_t n, uint32_t source, float delta,
                              float *distances, int threads) {
    omp_set_num_threads(threads);
    std::atomic<float> *dist = reinterpret_cast<std::atomic<float> *>(distances);
#pragma omp parallel for
    for (int64_t v = 0; v < n; v++) distances[v] = std::numeric_limits<float>::infinity();
    distances[source] = 0;
    const std::unique_ptr<uint32_t[]> frontier(new uint32_t[offsets[n] + 1]);
    frontier[0] = source;
    uint64_t shared[2] = {0, NO_BIN};
    uint64_t tails[2] = {1, 0};
    int64_t rounds = 0;
#pragma omp parallel
    {
        std::vector<std::vector<uint32_t>> bins;
        uint64_t round = 0;
        while (shared[round & 1] != NO_BIN) {
            uint64_t &current = shared[round & 1], &next = shared[(round + 1) & 1];
            uint64_t &tail = tails[round & 1], &next_tail = tails[(round + 1) & 1];
#pragma omp for nowait schedule(dynamic, 64)
            for (uint64_t i = 0; i < tail; i++) {
                const uint32_t u = frontier[i];
                if (dist[u].load(std::memory_order_relaxed) >= delta * (float)current)
                    relax(offsets, edges, delta, dist, bins, u);
            }
            while (current < bins.size() && !bins[current].empty() && bins[current].size() < FUSED) {
                const std::vector<uint32_t> mine = std::move(bins[current]);
                bins[current].clear();
                for (uint32_t u : mine) relax(offsets, edges, delta, dist, bins, u);
            }
            for (uint64_t bin = current; bin < bins.size(); bin++)
                if (!bins[bin].empty()) {
#pragma omp critical
                    next = std::min(next, bin);
                    break;
                }
#pragma omp barrier
#pragma omp single nowait
            {
                current = NO_BIN;
                tail = 0;
                rounds++;
            }
            if (next < bins.size()) {
                const uint64_t at = __sync_fetch_and_add(&next_tail, bins[next].size());
                std::copy(bins[next].begin(), bins[next].end(), frontier.get() + at);
                bins[next].clear();
            }
            round++;
#pragma omp barrier
        }
    }
    return rounds;
}
