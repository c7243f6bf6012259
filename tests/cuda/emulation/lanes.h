// The state of a launch: blocks, their lanes, where each lane waits, how this is reported, and switches between lanes.
#pragma once
#include <csetjmp>
#include <cstdarg>
#include <cstring>
#include <vector>

#include "fibers.h"

typedef unsigned long long u64;

static const unsigned LANES = 1024, WORDS = LANES / 64, CELLS = 64;
static const unsigned POLLS = 64;          // atomic operations in a row that make a lane let the others run
static const unsigned FIBERS = 2048;       // maximum registered with the thread sanitizer in a launch
static const unsigned ROUNDS = 100000;     // of polling without any progress that are taken for a deadlock
static const char* const NAMES[] = {
    "__syncthreads", "__syncthreads_or", "__syncthreads_and", "__syncthreads_count", "__syncwarp", "__shfl_sync",
    "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync", "__ballot_sync", "__any_sync", "__all_sync",
    "__match_any_sync"};
enum { OR = 1, AND, COUNT, SYNCWARP, SHFL, SHFL_XOR = 8, BALLOT, ANY, ALL, MATCH_ANY };  // in NAMES
enum Place : unsigned char { READY, POLLING, AT_BARRIER, AT_WARP, RETURNED };

struct Block;
struct Lane {
  Context context;
  Block* block;
  Fiber fiber;
  void* fake;  // stack of the address sanitizer
  void* cell;    // the object by which the thread sanitizer orders the lanes of one warp operation
  u64 value, result;
  unsigned index, mask, polls;
  int line, source;
  Place place;
  unsigned char operation;
};

struct Block {
  unsigned number, threads, alive, arrived, turn;
  u64 ready[WORDS], polling[WORDS];
  unsigned waiting[LANES / 32];  // lanes of a warp that wait at a warp operation
  unsigned used[LANES / 32];     // cells
  char barriers[2], cells[LANES / 32][CELLS];
  unsigned char* shared;
  Lane lanes[LANES];
};

// As written by emulated.py.
struct Launch {
  u64 blocks, threads, shared, cooperative, order, seed, garbage;
  u64 devices, words;  // with more than one device, the arguments of each follow one another
};
enum Order { ASCENDING, DESCENDING, RANDOM };

struct Index {
  unsigned x;
};
Index threadIdx, blockIdx, blockDim, gridDim;

static struct {
  Launch launch;
  const char* name;
  void (*body)(const u64*);
  const u64* arguments;
  char* message;
  size_t size;
  bool failed, unwatched;
  Context scheduler;
  void *thread, *fake;
  const void* bottom;
  size_t extent;
  Lane* lane;  // the running lane
  u64 random, started, finished, fence;
  unsigned rounds;  // rounds of polling since the last progress
  u64 met;  // blocks that have arrived at barriers of the cluster
  std::vector<Block*> alive;
  std::vector<Fiber> fibers, used_fibers;
  std::vector<Block*> blocks;
  std::vector<Memory> shared, used_shared;
  sigjmp_buf trap;
} now;

static u64 draw() {  // splitmix64
  u64 z = (now.random += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// -- errors -----------------------------------------------------------------------------------------------------------

static void say(const char* format, ...) {
  size_t used = strlen(now.message);
  va_list list;
  va_start(list, format);
  if (used + 1 < now.size) vsnprintf(now.message + used, now.size - used, format, list);
  va_end(list);
}

static void leave(Lane* lane, bool forever);

// Ends the launch; waiting lanes are dropped, as on a GPU.
[[noreturn]] static void stop() {
  now.failed = true;
  leave(now.lane, true);
  __builtin_unreachable();
}

static void say_where() { say("kernel %s, block %u, lane %u: ", now.name, now.lane->block->number, now.lane->index); }

static bool alike(const Lane& a, const Lane& b) {
  if (a.place != b.place) return false;
  if (a.place == AT_WARP) return a.operation == b.operation && a.mask == b.mask && a.line == b.line;
  return a.place != AT_BARRIER || (a.operation == b.operation && a.line == b.line);
}

static void say_place(const Lane& lane, bool one) {
  const char* end = one ? "s" : "";
  switch (lane.place) {
    case READY: say("run%s", end); break;
    case POLLING: say("poll%s", end); break;
    case AT_BARRIER: say("wait%s at %s (line %d)", end, NAMES[lane.operation], lane.line); break;
    case AT_WARP:
      say("wait%s at %s with mask 0x%08X (line %d)", end, NAMES[lane.operation], lane.mask, lane.line);
      break;
    case RETURNED: say(one ? "has returned" : "have returned"); break;
  }
}

// "lanes 0-15 wait at ...; lanes 16-31 have returned"
static void say_lanes(const Block* block) {
  say("block %u: ", block->number);
  for (unsigned low = 0, high; low < block->threads; low = high) {
    for (high = low + 1; high < block->threads && alike(block->lanes[low], block->lanes[high]);) high++;
    say(high - low > 1 ? "%slanes %u-%u " : "%slane %u ", low ? "; " : "", low, high - 1);
    say_place(block->lanes[low], high - low == 1);
  }
}

// -- switches ---------------------------------------------------------------------------------------------------------

static void enter(Lane* lane) {
  now.lane = lane;
  threadIdx.x = lane->index;
  blockIdx.x = lane->block->number % (unsigned)now.launch.blocks;
  if (__tsan_switch_to_fiber) __tsan_switch_to_fiber(lane->fiber.thread, 1);
  if (__sanitizer_start_switch_fiber) __sanitizer_start_switch_fiber(&now.fake, lane->fiber.stack, stack_size());
  emulated_switch(&now.scheduler, &lane->context);
  if (__sanitizer_finish_switch_fiber) __sanitizer_finish_switch_fiber(now.fake, nullptr, nullptr);
}

static void leave(Lane* lane, bool forever) {
  if (__tsan_switch_to_fiber) __tsan_switch_to_fiber(now.thread, 1);
  if (__sanitizer_start_switch_fiber) {
    __sanitizer_start_switch_fiber(forever ? nullptr : &lane->fake, now.bottom, now.extent);
  }
  emulated_switch(&lane->context, &now.scheduler);
  if (__sanitizer_finish_switch_fiber) __sanitizer_finish_switch_fiber(lane->fake, &now.bottom, &now.extent);
}

static void set(u64* words, unsigned i) { words[i / 64] |= 1ull << i % 64; }

static void make_ready(Lane* lane) {
  lane->place = READY;
  lane->polls = 0;
  set(lane->block->ready, lane->index);
}

static void poll(Lane* lane) {
  lane->place = POLLING;
  lane->polls = 0;
  set(lane->block->polling, lane->index);
  leave(lane, false);
}

static void retire(Lane* lane) {
  Block* block = lane->block;
  lane->place = RETURNED;
  block->alive--;
  now.rounds = 0;
  for (unsigned left = block->waiting[lane->index / 32]; left; left &= left - 1) {
    const Lane& other = block->lanes[lane->index / 32 * 32 + __builtin_ctz(left)];
    if (other.mask >> lane->index % 32 & 1) {
      say_where();
      say("has returned, but a lane of its warp waits for it; ");
      say_lanes(block);
      stop();
    }
  }
  if (block->arrived) {
    say_where();
    say("has returned, but lanes of its block wait at a barrier; ");
    say_lanes(block);
    stop();
  }
}

static void run_lane() {
  Lane* lane = now.lane;
  if (__sanitizer_finish_switch_fiber) __sanitizer_finish_switch_fiber(nullptr, &now.bottom, &now.extent);
  if (__tsan_acquire) __tsan_acquire(&now.started);
  if (now.unwatched && AnnotateIgnoreReadsBegin) AnnotateIgnoreReadsBegin(now.name, 0);
  now.body(now.arguments + lane->block->number / now.launch.blocks * now.launch.words);
  if (now.unwatched && AnnotateIgnoreReadsEnd) AnnotateIgnoreReadsEnd(now.name, 0);
  if (__tsan_release) __tsan_release(&now.finished);
  retire(lane);
  leave(lane, true);
}
