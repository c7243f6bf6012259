// Synchronisation of lanes: barriers of a block, warp operations, fences; and atomic operations, which may switch
// lanes.
#pragma once
#include "lanes.h"

extern "C" unsigned char* emulated_shared() { return now.lane->block->shared; }

extern "C" unsigned char* emulated_peer(unsigned number) {
  for (Block* block : now.alive) {
    if (block->number == number) return block->shared;
  }
  return nullptr;  // the block has ended
}

extern "C" unsigned long long* emulated_met() { return &now.met; }

extern "C" void emulated_yield() { poll(now.lane); }

extern "C" void emulated_atomic() {
  Lane* lane = now.lane;
  if (++lane->polls >= POLLS) {
    poll(lane);
  } else if (now.launch.order == RANDOM && draw() % 8 == 0) {
    set(lane->block->ready, lane->index);
    leave(lane, false);
  }
}

// Functions that the thread sanitizer calls for `volatile` accesses, if g++ distinguishes them. Such accesses may race
// with each other, as on a GPU; with other accesses they are reported.
#define VOLATILE(bytes, bits, T)                                                                                      \
  WEAK T __tsan_atomic##bits##_load(const volatile T*, int);                                                          \
  WEAK T __tsan_atomic##bits##_fetch_or(volatile T*, T, int);                                                         \
  extern "C" void __tsan_volatile_read##bytes(void* place) { __tsan_atomic##bits##_load((T*)place, 0); }              \
  extern "C" void __tsan_volatile_write##bytes(void* place) { __tsan_atomic##bits##_fetch_or((T*)place, 0, 0); }
VOLATILE(1, 8, unsigned char)
VOLATILE(2, 16, unsigned short)
VOLATILE(4, 32, unsigned)
VOLATILE(8, 64, unsigned long)

extern "C" void emulated_fence() {
  if (__tsan_release) {
    __tsan_release(&now.fence);
    __tsan_acquire(&now.fence);
  }
}

extern "C" void emulated_trap(int line) {
  say_where();
  say("__trap (line %d)", line);
  stop();
}

static void complete_barrier(Block* block) {
  u64 holding = 0, operation = block->lanes[0].operation;
  for (unsigned i = 0; i < block->threads; i++) holding += block->lanes[i].value;
  u64 result = operation == COUNT ? holding : operation == AND ? holding == block->threads : holding != 0;
  for (unsigned i = 0; i < block->threads; i++) {
    block->lanes[i].result = result;
    make_ready(&block->lanes[i]);
  }
  block->arrived = 0;
  block->turn ^= 1;
  now.rounds = 0;
}

extern "C" u64 emulated_block(int operation, int predicate, int line) {
  Lane* lane = now.lane;
  Block* block = lane->block;
  void* cell = &block->barriers[block->turn];
  lane->place = AT_BARRIER;
  lane->operation = (unsigned char)operation;
  lane->line = line;
  lane->value = (u64)predicate;
  if (__tsan_release) __tsan_release(cell);
  block->arrived++;
  bool mixed = false;
  if (block->arrived < block->threads && block->alive < block->threads) {
    say_where();
    say("waits at a barrier, but lanes of its block have returned; ");
    say_lanes(block);
    stop();
  }
  if (block->arrived == block->threads) {
    for (unsigned i = 0; i < block->threads; i++) mixed |= block->lanes[i].operation != operation;
    if (mixed) {
      say_where();
      say("lanes of a block meet at different barriers; ");
      say_lanes(block);
      stop();
    }
    complete_barrier(block);
  }
  leave(lane, false);
  if (__tsan_acquire) __tsan_acquire(cell);
  return lane->result;
}

static u64 warp_result(const Lane* warp, const Lane& lane) {
  unsigned votes = 0, equal = 0;
  for (unsigned left = lane.mask; left; left &= left - 1) {
    const unsigned i = __builtin_ctz(left);
    votes |= (warp[i].value != 0) * (1u << i);
    equal |= (warp[i].value == lane.value) * (1u << i);
  }
  switch (lane.operation) {
    case BALLOT: return votes;
    case ANY: return votes != 0;
    case ALL: return votes == lane.mask;
    case MATCH_ANY: return equal;
    default: break;
  }
  if (lane.operation < SHFL || lane.operation > SHFL_XOR) return 0;
  // The value of a lane outside the mask is undefined: a NaN in both widths, and no small integer.
  return lane.mask >> lane.source & 1 ? warp[lane.source].value : 0xFFFBADBAFFFBADBAull;
}

static void complete_warp(Block* block, unsigned warp, unsigned mask) {
  Lane* lanes = block->lanes + 32 * warp;
  for (unsigned left = mask; left; left &= left - 1) {
    Lane& lane = lanes[__builtin_ctz(left)];
    lane.result = warp_result(lanes, lane);
  }
  for (unsigned left = mask; left; left &= left - 1) make_ready(lanes + __builtin_ctz(left));
  block->waiting[warp] &= ~mask;
  now.rounds = 0;
}

// The lane has reached a warp operation. Returns true if it is the last lane of the mask.
static bool arrive(Lane* lane) {
  Block* block = lane->block;
  const unsigned warp = lane->index / 32, bit = 1u << lane->index % 32;
  const char* problem = nullptr;
  bool all = true;
  for (unsigned left = lane->mask & ~bit; left; left &= left - 1) {
    const Lane& other = block->lanes[32 * warp + __builtin_ctz(left)];
    const bool same = other.place == AT_WARP && other.mask == lane->mask;
    if (same) lane->cell = other.cell;
    if (same && other.operation != lane->operation) problem = "meets lanes that are at another warp operation";
    if (other.place == RETURNED) problem = "waits for a lane of its warp that has returned";
    all &= same;
  }
  if (!(lane->mask & bit)) problem = "is not in the mask of its own warp operation";
  if (problem) {
    say_where();
    say("%s; ", problem);
    say_lanes(block);
    stop();
  }
  return all;
}

extern "C" u64 emulated_warp(int operation, unsigned mask, u64 value, int source, int line) {
  Lane* lane = now.lane;
  Block* block = lane->block;
  const unsigned warp = lane->index / 32;
  lane->place = AT_WARP;
  lane->operation = (unsigned char)operation;
  lane->mask = mask;
  lane->value = value;
  lane->source = source;
  lane->line = line;
  lane->cell = nullptr;
  const bool all = arrive(lane);
  if (!lane->cell) lane->cell = &block->cells[warp][block->used[warp]++ % CELLS];
  const bool orders = operation == SYNCWARP;  // votes and shuffles "do not imply a memory barrier" (programming guide)
  if (orders && __tsan_release) __tsan_release(lane->cell);
  block->waiting[warp] |= 1u << lane->index % 32;
  void* cell = lane->cell;
  if (all) complete_warp(block, warp, mask);
  leave(lane, false);
  if (orders && __tsan_acquire) __tsan_acquire(cell);
  return lane->result;
}
