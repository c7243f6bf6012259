// PageRank and breadth-first search as a C++ programmer writes them for MPI: each rank owns a range of rows with about
// the same number of edges, every rank has the values of all vertices, and an all-gather or all-reduce ends a superstep.
//   mpicxx -O3 -march=native -o loops loops.cpp;  mpiexec -n 2 ./loops GRAPH SOURCE SUPERSTEPS RUNS
// GRAPH is a binary file: n and m as u64, then u64 offsets[n + 1] and u32 neighbours[m] of a symmetric graph.
// Rank 0 prints a line for each run: the seconds of PageRank, the sum of ranks, the seconds of the search, the levels.
#include <mpi.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static std::vector<uint64_t> read_words(FILE *file, size_t count) {
    std::vector<uint64_t> words(count);
    if (fread(words.data(), 8, count, file) != count) MPI_Abort(MPI_COMM_WORLD, 1);
    return words;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 5) MPI_Abort(MPI_COMM_WORLD, 2);
    FILE *file = fopen(argv[1], "rb");
    if (!file) MPI_Abort(MPI_COMM_WORLD, 1);
    const int64_t source = atoll(argv[2]), supersteps = atoll(argv[3]), runs = atoll(argv[4]);
    const auto head = read_words(file, 2);
    const int64_t n = (int64_t)head[0];
    const auto offsets = read_words(file, n + 1);
    std::vector<int64_t> bounds(size + 1, n);  // cut by edges, at multiples of 64 for the words of bitmaps
    for (int r = 0; r < size; r++) {
        const int64_t v = std::lower_bound(offsets.begin(), offsets.end(), head[1] / size * r) - offsets.begin();
        bounds[r] = r ? std::min(n, (v + 63) / 64 * 64) : 0;
    }
    const int64_t low = bounds[rank], high = bounds[rank + 1];
    std::vector<uint32_t> targets(offsets[high] - offsets[low]);
    fseek(file, 8 * (n + 3) + 4 * offsets[low], SEEK_SET);
    if (fread(targets.data(), 4, targets.size(), file) != targets.size()) MPI_Abort(MPI_COMM_WORLD, 1);
    fclose(file);
    const uint32_t *row = targets.data() - offsets[low];
    std::vector<int> counts(size), starts(size);
    for (int r = 0; r < size; r++) counts[r] = (int)(bounds[r + 1] - bounds[r]), starts[r] = (int)bounds[r];
    std::vector<float> share(n), value(high - low);
    std::vector<int32_t> depth(high - low);
    const int64_t words = (n + 63) / 64;
    std::vector<uint64_t> front(words), next(words);
    for (int64_t run = 0; run < runs; run++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        std::fill(value.begin(), value.end(), 1.0f / n);
        double total = 0;
        for (int64_t step = 0; step < supersteps; step++) {
            double lost = 0, sum = 0;
            for (int64_t v = low; v < high; v++) {
                const uint64_t degree = offsets[v + 1] - offsets[v];
                share[v] = degree ? value[v - low] / (float)degree : 0;
                if (!degree) lost += value[v - low];
            }
            MPI_Allreduce(MPI_IN_PLACE, &lost, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, share.data(), counts.data(), starts.data(), MPI_FLOAT,
                           MPI_COMM_WORLD);
            for (int64_t v = low; v < high; v++) {
                float inflow = 0;
                for (uint64_t e = offsets[v]; e < offsets[v + 1]; e++) inflow += share[row[e]];
                value[v - low] = (float)((0.15 + 0.85 * lost) / n + 0.85 * inflow);
                sum += value[v - low];
            }
            MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
        const double pagerank = MPI_Wtime() - begin;
        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
        std::fill(depth.begin(), depth.end(), -1);
        std::fill(front.begin(), front.end(), 0);
        front[source >> 6] |= 1ull << (source & 63);
        int64_t level = 0, active = 1;
        if (low <= source && source < high) depth[source - low] = 0;
        while (active) {  // the owners of the frontier mark the neighbours, and the marks of all ranks are united
            std::fill(next.begin(), next.end(), 0);
            for (int64_t w = low >> 6; w < (high + 63) >> 6; w++)
                for (uint64_t there = front[w]; there; there &= there - 1) {
                    const int64_t v = 64 * w + __builtin_ctzll(there);
                    for (uint64_t e = offsets[v]; e < offsets[v + 1]; e++) next[row[e] >> 6] |= 1ull << (row[e] & 63);
                }
            MPI_Allreduce(MPI_IN_PLACE, next.data(), (int)words, MPI_UINT64_T, MPI_BOR, MPI_COMM_WORLD);
            level++, active = 0;
            for (int64_t w = low >> 6; w < (high + 63) >> 6; w++) {
                uint64_t found = 0;
                for (uint64_t there = next[w]; there; there &= there - 1) {
                    const int64_t v = 64 * w + __builtin_ctzll(there);
                    if (depth[v - low] < 0) depth[v - low] = (int32_t)level, found |= 1ull << (v & 63), active++;
                }
                front[w] = found;
            }
            MPI_Allreduce(MPI_IN_PLACE, &active, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        }
        const double search = MPI_Wtime() - begin;
        if (!rank) printf("%.9f %.6f %.9f %lld\n", pagerank, total, search, (long long)level);
    }
    MPI_Finalize();
}
