// Priority order (rule O) by near-far piles (Davidson, Baxter, Garland, Owens: Work-efficient parallel GPU methods for
// single-source shortest paths, IPDPS'14). Vertices below a bound push; other vertices wait in a far pile until the
// bound is raised.

// Adapts delta, the step by which the bound is raised. With narrow buckets of priorities there are many supersteps with
// few edges, and each superstep costs as much as STEP_EDGES edges. With wide buckets, vertices push values that are not
// final. So delta moves towards the least cost per unit of priority: after every DELTA_RAISES raises it is doubled or
// halved, and the direction is reversed if the last change increased the cost. The initial delta is the mean increase
// of the priority by the first pushes. Delta does not change while supersteps have many edges.
constexpr f64 STEP_EDGES = 32768;
constexpr u64 DELTA_RAISES = 4;

__device__ __forceinline__ bool is_finite(f64 x) { return x - x == 0; }

__device__ __forceinline__ void climb(Control* control, f64 from, f64 step_edges) {
  control->worked_raises++;
  if (control->worked_raises < DELTA_RAISES || !(from > control->worked_from)) {
    return;
  }
  const f64 steps = f64(control->worked_steps), edges = f64(control->worked);
  const f64 cost = (edges + step_edges * (steps + 2 * DELTA_RAISES)) / (from - control->worked_from);
  if (control->cost != 0 || edges < step_edges * steps) {
    if (control->cost != 0 && cost > control->cost) {
      control->narrowing ^= 1;
    }
    control->delta *= control->narrowing ? 0.5 : 2;
    control->cost = cost;
  }
  control->worked = control->worked_steps = control->worked_raises = 0;
  control->worked_from = from;
}

// Chooses a new bound for the far pile. Runs on one thread. step_edges: the edges that cost as much as a superstep.
__device__ __forceinline__ void raise_bound(Control* control, f64 step_edges = STEP_EDGES) {
  const f64 least = key_priority(control->least[control->pile]);
  const f64 from = least > control->bound ? least : control->bound;
  if (control->delta == 0) {
    const f64 mean = control->total / f64(control->totalled) - key_priority(control->start);
    control->delta = mean > 0 && is_finite(mean) ? mean : 1;
    control->worked = control->worked_steps = 0;
    control->worked_from = from;
  } else {
    climb(control, from, step_edges);
  }
  f64 bound = from + control->delta;
  while (!(bound > from) && is_finite(from)) {  // the step is lost in rounding
    control->delta *= 2;
    bound = from + control->delta;
  }
  control->bound = is_finite(from) ? bound : __longlong_as_double(0x7FF0000000000000ll);
  control->raises++;
}

// Moves the vertices of the far pile that are below the bound to a queue, and the others to the second pile.
template <class S>
__device__ __forceinline__ void sift(
    const Table& table, const typename S::Env& env, u64* queue, Counts* counts, const Crew& crew) {
  Control* control = table.control;
  const u64 pile = control->pile, piled = control->piled[pile];
  const f64 bound = control->bound;
  const Desk desk = own_desk();
  u64 edges = 0, least = ~u64(0);
  u32 filled = 0;
  for (u64 base = 32 * crew.warp; base < piled; base += 32 * crew.warps) {
    const bool there = base + lane_number() < piled;
    const u32 v = there ? table.far[pile][base + lane_number()] : 0;
    const bool valid = there && bit_of(table.far_bits, v);
    const f64 priority = valid ? S::priority(env, v) : 0;
    const bool near = valid && priority < bound;
    if (near) {
      clear_bit(table.far_bits, v);
    } else if (valid) {
      least = priority_key(priority) < least ? priority_key(priority) : least;
    }
    append_listed(table.far[1 - pile], &control->piled[1 - pile], valid && !near, v);
    filled = stage(desk, filled, near, v);
    if (filled > ROOM) {
      __syncwarp();
      append_entries(desk, filled, table.offsets, queue, &counts->entries, &edges);
      __syncwarp();
      filled = 0;
    }
  }
  NextFrontier<S, 1>::note_least(control->least + 1 - pile, least);
  __syncwarp();
  if (filled) {
    append_entries(desk, filled, table.offsets, queue, &counts->entries, &edges);
  }
  edges = warp_sum_wide(edges);
  if (lane_number() == 0 && edges) {
    atomicAdd(&counts->edges, edges);
  }
}
