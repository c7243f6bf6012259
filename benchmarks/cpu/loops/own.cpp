// Programs of a user's own as a C++ programmer writes them: a pull over 32-bit ids with a dynamic schedule, and what
// depends on the sender alone computed once per sender. The programs are in own/programs.py.
//   g++ -O3 -march=native -fopenmp -shared -fPIC own.cpp
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
#include <omp.h>

namespace {

// Rows of one direction, and chunks of them with about equal numbers of edges.
struct Rows {
    const uint64_t *offsets;
    const uint32_t *targets;
    int64_t n;
    std::vector<int64_t> cut{0};

    Rows(const uint64_t *offsets, const uint32_t *targets, int64_t n) : offsets(offsets), targets(targets), n(n) {
        const uint64_t per_chunk = (offsets[n] + n) / 256 + 1;
        for (int64_t v = 0; v < n; v++)
            if (offsets[v + 1] + v + 1 >= cut.size() * per_chunk) cut.push_back(v + 1);
        if (cut.back() != n) cut.push_back(n);
    }

    template <class Act> void each(Act act) const {
        const int64_t chunks = (int64_t)cut.size() - 1;
#pragma omp parallel for schedule(dynamic, 1)
        for (int64_t c = 0; c < chunks; c++)
            for (int64_t v = cut[c]; v < cut[c + 1]; v++) act(v);
    }

    float degree(int64_t v) const { return (float)(offsets[v + 1] - offsets[v]); }
};

template <class Act> void vertices(int64_t n, Act act) {
#pragma omp parallel for
    for (int64_t v = 0; v < n; v++) act(v);
}

}  // namespace

#define GIVEN                                                                                                          \
    const uint64_t *in_offsets, const uint32_t *in_targets, const float *weights, const uint64_t *out_offsets,         \
        const uint32_t *out_targets, int64_t n, int rounds, float *x, float *y, uint32_t *who, int threads,            \
        double *seconds
#define BEGIN                                                                                                          \
    omp_set_num_threads(threads);                                                                                      \
    const Rows in(in_offsets, in_targets, n), out(out_offsets, out_targets, n);                                        \
    std::vector<float> next(n), share(n);                                                                              \
    const double begin = omp_get_wtime();
#define END seconds[0] = omp_get_wtime() - begin;

// x: the result of each program, which its start value is in; y and who: further results. y: sums of weights for spread.
extern "C" void spread(GIVEN) {
    BEGIN
    for (int round = 0; round < rounds; round++) {
        vertices(n, [&](int64_t v) { share[v] = x[v] / y[v]; });
        in.each([&](int64_t v) {
            float sum = 0;
            for (uint64_t e = in_offsets[v]; e < in_offsets[v + 1]; e++) sum += share[in_targets[e]] * weights[e];
            x[v] = 0.15f + 0.85f * sum;
        });
    }
    END
}

extern "C" void cited(GIVEN) {
    BEGIN
    for (int round = 0; round < rounds; round++) {
        in.each([&](int64_t v) {
            float sum = 0;
            for (uint64_t e = in_offsets[v]; e < in_offsets[v + 1]; e++) sum += x[in_targets[e]];
            y[v] = sum / (1 + in.degree(v));
        });
        out.each([&](int64_t v) {
            float sum = 0;
            for (uint64_t e = out_offsets[v]; e < out_offsets[v + 1]; e++) sum += y[out_targets[e]];
            x[v] = sum / (1 + out.degree(v));
        });
    }
    END
}

extern "C" void some(GIVEN) {
    BEGIN
    for (int round = 0; round < rounds; round++) {
        in.each([&](int64_t v) {
            if (out.degree(v) <= 2) {
                next[v] = x[v];
                return;
            }
            float sum = 0;
            for (uint64_t e = in_offsets[v]; e < in_offsets[v + 1]; e++) sum += x[in_targets[e]];
            next[v] = 0.5f * x[v] + 0.5f * sum / (1 + in.degree(v));
        });
        std::copy(next.begin(), next.end(), x);
    }
    END
}

extern "C" void peaks(GIVEN) {
    BEGIN
    for (int round = 0; round < rounds; round++) {
        in.each([&](int64_t v) {
            float most = -INFINITY;
            uint32_t at = UINT32_MAX;
            for (uint64_t e = in_offsets[v]; e < in_offsets[v + 1]; e++) {
                const uint32_t u = in_targets[e];
                if (x[u] > most || (x[u] == most && u > at)) most = x[u], at = u;
            }
            who[v] = at;
            next[v] = at == UINT32_MAX ? 0.5f * x[v] : 0.5f * x[v] + 0.25f * most;
        });
        std::copy(next.begin(), next.end(), x);
    }
    END
}

extern "C" void vectors(GIVEN) {
    BEGIN
    std::vector<float> after(8 * n);
    for (int round = 0; round < rounds; round++) {
        in.each([&](int64_t v) {
            float sum[8] = {};
            for (uint64_t e = in_offsets[v]; e < in_offsets[v + 1]; e++)
                for (int k = 0; k < 8; k++) sum[k] += x[8 * (int64_t)in_targets[e] + k];
            for (int k = 0; k < 8; k++) after[8 * v + k] = 0.5f * x[8 * v + k] + 0.5f * sum[k] / (1 + in.degree(v));
        });
        std::copy(after.begin(), after.end(), x);
    }
    END
}

extern "C" void deviation(GIVEN) {
    BEGIN
    for (int round = 0; round < rounds; round++) {
        in.each([&](int64_t v) {
            float sum = 0;
            for (uint64_t e = in_offsets[v]; e < in_offsets[v + 1]; e++) sum += x[in_targets[e]];
            y[v] = sum / (1 + in.degree(v));
        });
        vertices(n, [&](int64_t v) { share[v] = std::fabs(x[v] - y[v]); });
        in.each([&](int64_t v) {
            float sum = 0;
            for (uint64_t e = in_offsets[v]; e < in_offsets[v + 1]; e++) sum += share[in_targets[e]];
            x[v] = 0.9f * x[v] + 0.1f * sum / (1 + in.degree(v));
        });
    }
    END
}

extern "C" void extent(GIVEN) {
    BEGIN
    for (int round = 0; round < rounds; round++) {
        vertices(n, [&](int64_t v) { share[v] = 0.5f * x[v]; });
        in.each([&](int64_t v) {
            float high = -INFINITY, low = INFINITY;
            for (uint64_t e = in_offsets[v]; e < in_offsets[v + 1]; e++) {
                const float value = share[in_targets[e]];
                high = std::max(high, value);
                low = std::min(low, value);
            }
            x[v] = 0.5f * x[v] + (in_offsets[v] < in_offsets[v + 1] ? 0.5f * (high - low) : 0);
        });
    }
    END
}
