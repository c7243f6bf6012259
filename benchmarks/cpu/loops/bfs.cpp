// Breadth-first levels as a C++ programmer writes them: with a queue, and with a queue and a bitmap between which the
// direction changes (Beamer, Asanovic, Patterson: Direction-optimizing breadth-first search, SC'12).
//   g++ -O3 -march=native -fopenmp -shared -fPIC bfs.cpp
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>
#include <omp.h>

static constexpr int32_t FAR = std::numeric_limits<int32_t>::max();
static constexpr int64_t ALPHA = 15, BETA = 18;
static constexpr int64_t SMALL = 512;  // entries of a queue that one thread expands faster than several

struct Queue {
    std::unique_ptr<uint32_t[]> now, next;
    int64_t entries, found;
};

static inline bool take(int32_t *depth, uint32_t v, int32_t level) {
    return depth[v] == FAR && __sync_bool_compare_and_swap(depth + v, FAR, level);
}

// Expands the queue. Returns the number of out-edges of the vertices found.
static int64_t top_down(const uint64_t *offsets, const uint32_t *targets, int32_t *depth, int32_t level, Queue &queue) {
    int64_t edges = 0;
    queue.found = 0;
#pragma omp parallel reduction(+ : edges) if (queue.entries > SMALL)
    {
        uint32_t kept[1024];
        int64_t held = 0;
#pragma omp for nowait schedule(dynamic, 64)
        for (int64_t i = 0; i < queue.entries; i++) {
            const uint32_t u = queue.now[i];
            for (uint64_t e = offsets[u]; e < offsets[u + 1]; e++) {
                const uint32_t v = targets[e];
                if (!take(depth, v, level)) continue;
                edges += offsets[v + 1] - offsets[v];
                if (held == 1024) {
                    const int64_t at = __sync_fetch_and_add(&queue.found, held);
                    for (int64_t k = 0; k < held; k++) queue.next[at + k] = kept[k];
                    held = 0;
                }
                kept[held++] = v;
            }
        }
        const int64_t at = __sync_fetch_and_add(&queue.found, held);
        for (int64_t k = 0; k < held; k++) queue.next[at + k] = kept[k];
    }
    queue.now.swap(queue.next);
    queue.entries = queue.found;
    return edges;
}

static Queue begin(int64_t n, uint32_t source, int32_t *depth) {
#pragma omp parallel for
    for (int64_t v = 0; v < n; v++) depth[v] = FAR;
    depth[source] = 0;
    Queue queue{std::unique_ptr<uint32_t[]>(new uint32_t[n]), std::unique_ptr<uint32_t[]>(new uint32_t[n]), 1, 0};
    queue.now[0] = source;
    return queue;
}

// Writes depth: int32[n], INT32_MAX for unreachable vertices. Returns the number of levels.
extern "C" int32_t bfs_queue(const uint64_t *offsets, const uint32_t *targets, int64_t n, uint32_t source,
                             int32_t *depth, int threads) {
    omp_set_num_threads(threads);
    Queue queue = begin(n, source, depth);
    int32_t level = 0;
    while (queue.entries) top_down(offsets, targets, depth, ++level, queue);
    return level;
}

// The same with direction optimisation. in_offsets, in_targets: the in-edges of each vertex, as sources.
extern "C" int32_t bfs_both_ways(const uint64_t *offsets, const uint32_t *targets, const uint64_t *in_offsets,
                                 const uint32_t *in_targets, int64_t n, uint32_t source, int32_t *depth, int threads) {
    omp_set_num_threads(threads);
    Queue queue = begin(n, source, depth);
    std::vector<uint64_t> front((n + 63) / 64), coming((n + 63) / 64);
    const int64_t words = (int64_t)front.size();
    int64_t unexplored = offsets[n], scout = offsets[source + 1] - offsets[source];
    int32_t level = 0;
    while (queue.entries) {
        if (scout <= unexplored / ALPHA) {
            unexplored -= scout;
            scout = top_down(offsets, targets, depth, ++level, queue);
            continue;
        }
#pragma omp parallel for
        for (int64_t w = 0; w < words; w++) front[w] = 0;
#pragma omp parallel for
        for (int64_t i = 0; i < queue.entries; i++)
            __sync_fetch_and_or(&front[queue.now[i] >> 6], uint64_t(1) << (queue.now[i] & 63));
        int64_t awake = queue.entries, before;
        do {
            before = awake;
            awake = 0;
            level++;
#pragma omp parallel for reduction(+ : awake) schedule(dynamic, 16)
            for (int64_t w = 0; w < words; w++) {
                uint64_t word = 0;
                for (int64_t v = 64 * w; v < 64 * w + 64 && v < n; v++) {
                    if (depth[v] != FAR) continue;
                    for (uint64_t e = in_offsets[v]; e < in_offsets[v + 1]; e++) {
                        const uint32_t u = in_targets[e];
                        if (front[u >> 6] >> (u & 63) & 1) {
                            depth[v] = level;
                            word |= uint64_t(1) << (v & 63);
                            awake++;
                            break;
                        }
                    }
                }
                coming[w] = word;
            }
            front.swap(coming);
        } while (awake >= before || awake > n / BETA);
        queue.entries = 0;
        for (int64_t w = 0; w < words; w++)
            for (uint64_t word = front[w]; word; word &= word - 1)
                queue.now[queue.entries++] = (uint32_t)(64 * w + __builtin_ctzll(word));
        scout = 1;
    }
    return level;
}
