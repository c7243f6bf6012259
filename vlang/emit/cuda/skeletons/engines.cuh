// The choice of a transfer for each page (HyTGraph, Wang et al., ICDE 2023, V-A, formulas 1 to 3 and algorithm 1) on the
// device. runtime/gpu/topology/engines.py has the same formulas for the host, and explains them.

enum : u64 { ENGINE_WHOLE, ENGINE_DIRECT, ENGINE_PACKED };

constexpr f64 PACKET_LINES = 256;  // requests of 128 bytes in a packet
constexpr u64 ROW_INDEX = 4;       // bytes of the place of a packed row
constexpr u64 HOST_PAGE = 4096;    // bytes
constexpr u64 ROW_ENDS = 96;       // surplus bytes of a row that is read in place

// Chooses by the published formulas. marks: see `PageMarks`; the last word of each page receives an ENGINE.
__device__ __forceinline__ void choose_published(u64* marks, const u64* starts, u64 pages, u64 edge_bytes) {
  for (u64 page = thread_number(); page < pages; page += thread_count()) {
    u64* mine = marks + MARK_WORDS * page;
    const u64 edges = starts[page + 1] - starts[page], ranges = mine[0], active = mine[1], lines = mine[3];
    const f64 packet = 128 * PACKET_LINES;
    const f64 whole = ceil(f64(edges * edge_bytes) / packet);
    const f64 packed = ceil(f64(active * edge_bytes + ranges * ROW_INDEX) / packet);
    const f64 trip = 0.625 + 0.375 * f64(active) / f64(edges != 0 ? edges : 1);
    const f64 direct = ceil(f64(lines * edge_bytes) / 4 / PACKET_LINES) * trip;
    mine[4] = packed < 0.8 * whole && packed < 0.4 * direct ? ENGINE_PACKED
              : direct <= whole                             ? ENGINE_DIRECT
                                                            : ENGINE_WHOLE;
  }
}

// Chooses by measured rates, which are bits of f64. start: seconds until a copy starts. copied, direct: bytes per second
// of copies and of reads in place. touched: pages of host memory per second that reads can touch; 0 if kernels cannot
// read them. row, byte: seconds of the CPU to gather a row and a byte; infinite if it does not gather.
// queued: seconds of the host for each page that is copied.
__device__ __forceinline__ void choose_measured(u64* marks, const u64* starts, u64 pages, u64 edge_bytes, u64 start,
                                                u64 copied, u64 direct, u64 touched, u64 row, u64 byte,
                                                u64 queued) {
  const auto rate = [](u64 bits) { return __longlong_as_double(i64(bits)); };
  for (u64 page = thread_number(); page < pages; page += thread_count()) {
    u64* mine = marks + MARK_WORDS * page;
    const u64 bytes = (starts[page + 1] - starts[page]) * edge_bytes, ranges = mine[0], active = mine[1] * edge_bytes;
    const u64 most = bytes / HOST_PAGE + 1;
    const f64 copy = rate(start) + f64(bytes) / rate(copied);
    const f64 whole = copy > rate(queued) ? copy : rate(queued);
    const f64 in_place = f64(ranges < most ? ranges : most) / rate(touched) +
                         f64(active + ranges * ROW_ENDS) / rate(direct);
    const f64 gathered = f64(ranges) * rate(row) + f64(active) * rate(byte);
    const f64 moved = f64(active + ROW_INDEX * ranges) / rate(copied);
    const f64 packed = rate(start) + (gathered > moved ? gathered : moved);
    mine[4] = packed < whole && packed < in_place ? ENGINE_PACKED : in_place < whole ? ENGINE_DIRECT : ENGINE_WHOLE;
  }
}
