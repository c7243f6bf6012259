// Connected components as a C++ programmer finds them: Afforest (Sutton, Ben-Nun, Barak, IPDPS 2018). Two neighbours of
// every vertex are linked, the largest tree is guessed from a sample, and only vertices outside of it link the rest.
//   g++ -O3 -march=native -fopenmp -shared -fPIC components.cpp
#include <cstdint>
#include <random>
#include <unordered_map>
#include <omp.h>

namespace {

void link(uint32_t *label, uint32_t u, uint32_t v) {
    uint32_t a = __atomic_load_n(&label[u], __ATOMIC_RELAXED), b = __atomic_load_n(&label[v], __ATOMIC_RELAXED);
    while (a != b) {
        const uint32_t high = a > b ? a : b, low = a > b ? b : a;
        uint32_t above = __atomic_load_n(&label[high], __ATOMIC_RELAXED);
        if (above == low) return;
        if (above == high) {
            uint32_t expected = high;
            if (__atomic_compare_exchange_n(&label[high], &expected, low, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                return;
        }
        a = __atomic_load_n(&label[__atomic_load_n(&label[high], __ATOMIC_RELAXED)], __ATOMIC_RELAXED);
        b = __atomic_load_n(&label[low], __ATOMIC_RELAXED);
    }
}

void compress(uint32_t *label, int64_t n) {
#pragma omp parallel for schedule(dynamic, 16384)
    for (int64_t v = 0; v < n; v++)
        while (label[v] != label[label[v]]) label[v] = label[label[v]];
}

uint32_t largest(const uint32_t *label, int64_t n) {
    std::mt19937 random(27491095);
    std::uniform_int_distribution<int64_t> pick(0, n - 1);
    std::unordered_map<uint32_t, int> counts;
    for (int i = 0; i < 1024; i++) counts[label[pick(random)]]++;
    uint32_t best = label[0];
    for (const auto &[name, count] : counts)
        if (count > counts[best]) best = name;
    return best;
}

}  // namespace

// offsets: uint64[n + 1] and targets: uint32[edges], every edge at both of its ends. label: uint32[n], the smallest
// vertex of each component. seconds: double[1].
extern "C" void components(const uint64_t *offsets, const uint32_t *targets, int64_t n, uint32_t *label, int threads,
                           double *seconds) {
    omp_set_num_threads(threads);
    const double start = omp_get_wtime();
    const uint64_t rounds = 2;
#pragma omp parallel for
    for (int64_t v = 0; v < n; v++) label[v] = (uint32_t)v;
    for (uint64_t round = 0; round < rounds; round++) {
#pragma omp parallel for schedule(dynamic, 16384)
        for (int64_t v = 0; v < n; v++)
            if (offsets[v] + round < offsets[v + 1]) link(label, (uint32_t)v, targets[offsets[v] + round]);
        compress(label, n);
    }
    if (n) {
        const uint32_t most = largest(label, n);
#pragma omp parallel for schedule(dynamic, 16384)
        for (int64_t v = 0; v < n; v++) {
            if (label[v] == most) continue;
            for (uint64_t e = offsets[v] + rounds; e < offsets[v + 1]; e++) link(label, (uint32_t)v, targets[e]);
        }
        compress(label, n);
    }
    seconds[0] = omp_get_wtime() - start;
}
