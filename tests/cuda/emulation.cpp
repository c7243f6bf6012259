// The scheduler of emulated kernels: lanes are fibers, run one at a time until they meet.
//
// A lane runs until it waits at a barrier, at a warp operation, or polls; then another one that is ready runs, taken in
// the order of the launch (ascending, descending, random). So lanes that forgot to meet see each other's work too late
// or too early. Random order also changes lanes before atomic operations. Lanes that wait for what cannot happen are
// reported with the places where they wait.
//
// Compiled once, without sanitizers; where one is loaded its fiber interface is told of every switch, and the thread
// sanitizer is told that lanes are ordered by barriers, warp operations and fences, and by nothing else.
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <csetjmp>
#include <csignal>
#include <sys/mman.h>
#include <vector>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

typedef unsigned long long u64;

#define WEAK extern "C" __attribute__((weak))
WEAK void __asan_init();
WEAK void __asan_poison_memory_region(void const volatile*, size_t);
WEAK void __asan_unpoison_memory_region(void const volatile*, size_t);
WEAK void __sanitizer_start_switch_fiber(void**, const void*, size_t);
WEAK void __sanitizer_finish_switch_fiber(void*, const void**, size_t*);
WEAK void* __tsan_create_fiber(unsigned);
WEAK void* __tsan_get_current_fiber();
WEAK void __tsan_destroy_fiber(void*);
WEAK void __tsan_switch_to_fiber(void*, unsigned);
WEAK void __tsan_acquire(void*);
WEAK void __tsan_release(void*);

// -- contexts ---------------------------------------------------------------------------------------------------------

#if defined(__x86_64__)
typedef void* Context;
extern "C" void emulated_switch(Context* from, Context* to);
asm(R"(
.text
.globl emulated_switch
.hidden emulated_switch
.type emulated_switch,@function
emulated_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq (%rsi), %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emulated_switch,.-emulated_switch
.section .note.GNU-stack,"",@progbits
.text
)");
static void prepare(Context* context, char* stack, size_t size, void (*start)()) {
  void** top = (void**)(stack + size);
  *--top = nullptr;  // of the callers, none
  *--top = (void*)start;
  for (int i = 0; i < 6; i++) *--top = nullptr;
  *context = top;
}
#else
typedef ucontext_t Context;
static void emulated_switch(Context* from, Context* to) { swapcontext(from, to); }
static void prepare(Context* context, char* stack, size_t size, void (*start)()) {
  getcontext(context);
  context->uc_stack.ss_sp = stack;
  context->uc_stack.ss_size = size;
  context->uc_link = nullptr;
  makecontext(context, start, 0);
}
#endif

// -- state ------------------------------------------------------------------------------------------------------------

static const unsigned LANES = 1024, WORDS = LANES / 64, CELLS = 64;
static const unsigned POLLS = 64;          // atomic operations in a row that make a lane let the others run
static const unsigned ROUNDS = 100000;     // of polling without any progress that are taken for a deadlock
static const char* const NAMES[] = {
    "__syncthreads", "__syncthreads_or", "__syncthreads_and", "__syncthreads_count", "__syncwarp", "__shfl_sync",
    "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync", "__ballot_sync", "__any_sync", "__all_sync",
    "__match_any_sync"};
enum { OR = 1, AND = 2, COUNT = 3, SHFL = 5, SHFL_XOR = 8, BALLOT = 9, ANY = 10, ALL = 11, MATCH_ANY = 12 };
enum Place : unsigned char { READY, POLLING, AT_BARRIER, AT_WARP, RETURNED };

struct Block;
struct Lane {
  Context context;
  Block* block;
  char* stack;
  void* thread;  // of the thread sanitizer
  void* fake;    // stack of the address sanitizer
  void* cell;    // what the thread sanitizer orders the lanes of one warp operation by
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
};
enum Order { ASCENDING, DESCENDING, RANDOM };

struct Index {
  unsigned x;
};
Index threadIdx, blockIdx, blockDim, gridDim;

struct Memory {
  char* base;
  size_t size;
};

static struct {
  Launch launch;
  const char* name;
  void (*body)(const u64*);
  const u64* arguments;
  char* message;
  size_t size;
  bool failed;
  Context scheduler;
  void *thread, *fake;
  const void* bottom;
  size_t extent;
  Lane* lane;  // that runs
  u64 random, finished, fence;
  unsigned rounds;  // of polling since something last happened
  std::vector<Block*> alive;
  std::vector<char*> stacks, used_stacks;
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

static size_t stack_size() { return __asan_init || __tsan_create_fiber ? 256 << 10 : 64 << 10; }

// Memory that ends where a page starts that nobody may touch; another one lies before it.
static Memory fenced(size_t bytes) {
  const size_t page = 4096, inner = (bytes + page - 1) / page * page;
  char* base = (char*)mmap(nullptr, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED || mprotect(base + page, inner ? inner : 1, PROT_READ | PROT_WRITE)) {
    fprintf(stderr, "no memory for the fibers of a kernel\n");
    abort();
  }
  return {base + page, inner};
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

// Ends the launch; the lanes that still wait are forgotten, as a GPU forgets them.
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

static void say_place(const Lane& lane) {
  switch (lane.place) {
    case READY: say("run"); break;
    case POLLING: say("poll"); break;
    case AT_BARRIER: say("wait at %s (line %d)", NAMES[lane.operation], lane.line); break;
    case AT_WARP: say("wait at %s with mask 0x%08X (line %d)", NAMES[lane.operation], lane.mask, lane.line); break;
    case RETURNED: say("have returned"); break;
  }
}

// "lanes 0-15 wait at ...; lanes 16-31 have returned"
static void say_lanes(const Block* block) {
  say("block %u: ", block->number);
  for (unsigned low = 0, high; low < block->threads; low = high) {
    for (high = low + 1; high < block->threads && alike(block->lanes[low], block->lanes[high]);) high++;
    say(high - low > 1 ? "%slanes %u-%u " : "%slane %u ", low ? "; " : "", low, high - 1);
    say_place(block->lanes[low]);
  }
}

// -- switches ---------------------------------------------------------------------------------------------------------

static void enter(Lane* lane) {
  now.lane = lane;
  threadIdx.x = lane->index;
  blockIdx.x = lane->block->number;
  if (__tsan_switch_to_fiber) __tsan_switch_to_fiber(lane->thread, 1);
  if (__sanitizer_start_switch_fiber) __sanitizer_start_switch_fiber(&now.fake, lane->stack, stack_size());
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
  now.body(now.arguments);
  if (__tsan_release) __tsan_release(&now.finished);
  retire(lane);
  leave(lane, true);
}

// -- operations -------------------------------------------------------------------------------------------------------

extern "C" unsigned char* emulated_shared() { return now.lane->block->shared; }

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
  // A lane outside the mask gives nothing defined: a NaN in both widths, and no small integer.
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

// The lane stands at a warp operation. True if it is the last one of the mask.
static bool arrive(Lane* lane) {
  Block* block = lane->block;
  const unsigned warp = lane->index / 32, bit = 1u << lane->index % 32;
  const char* problem = lane->mask & bit ? nullptr : "is not in the mask of its own warp operation";
  bool all = true;
  for (unsigned left = lane->mask & ~bit; left; left &= left - 1) {
    const Lane& other = block->lanes[32 * warp + __builtin_ctz(left)];
    const bool same = other.place == AT_WARP && other.mask == lane->mask;
    if (same) lane->cell = other.cell;
    if (same && other.operation != lane->operation) problem = "meets lanes that are at another warp operation";
    if (other.place == RETURNED) problem = "waits for a lane of its warp that has returned";
    all &= same;
  }
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
  if (__tsan_release) __tsan_release(lane->cell);
  block->waiting[warp] |= 1u << lane->index % 32;
  void* cell = lane->cell;
  if (all) complete_warp(block, warp, mask);
  leave(lane, false);
  if (__tsan_acquire) __tsan_acquire(cell);
  return lane->result;
}

// -- scheduler --------------------------------------------------------------------------------------------------------

static char* take_stack() {
  if (now.stacks.empty()) now.stacks.push_back(fenced(stack_size()).base);
  char* stack = now.stacks.back();
  now.stacks.pop_back();
  if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(stack, stack_size());
  return stack;
}

static Memory take_shared() {
  const size_t bytes = (now.launch.shared + 15) / 16 * 16;
  for (size_t i = 0; i < now.shared.size(); i++) {
    if (now.shared[i].size >= bytes && now.shared[i].size < bytes + 4096) {
      Memory memory = now.shared[i];
      now.shared.erase(now.shared.begin() + (long)i);
      return memory;
    }
  }
  return fenced(bytes);
}

static void start_block(unsigned number) {
  if (now.blocks.empty()) now.blocks.push_back(new Block);
  Block* block = now.blocks.back();
  now.blocks.pop_back();
  const unsigned threads = (unsigned)now.launch.threads;
  memset(block, 0, offsetof(Block, lanes));
  block->number = number;
  block->threads = block->alive = threads;
  const Memory memory = take_shared();
  now.used_shared.push_back(memory);
  block->shared = (unsigned char*)memory.base + memory.size - (now.launch.shared + 15) / 16 * 16;
  if (__asan_poison_memory_region) __asan_unpoison_memory_region(memory.base, memory.size);
  memset(memory.base, (int)now.launch.garbage, memory.size);
  if (__asan_poison_memory_region) {
    __asan_poison_memory_region(block->shared + now.launch.shared, (16 - now.launch.shared % 16) % 16);
    __asan_poison_memory_region(memory.base, (size_t)((char*)block->shared - memory.base));
  }
  for (unsigned i = 0; i < threads; i++) {
    Lane* lane = &block->lanes[i];
    memset((void*)lane, 0, sizeof(Lane));
    lane->block = block;
    lane->index = i;
    lane->stack = take_stack();
    if (__tsan_create_fiber) lane->thread = __tsan_create_fiber(0);
    prepare(&lane->context, lane->stack, stack_size(), run_lane);
    set(block->ready, i);
  }
  now.alive.push_back(block);
}

// The thread sanitizer must not see a stack or shared memory twice in a launch, as lanes that follow each other in them
// are not ordered.
static void end_block(Block* block) {
  for (unsigned i = 0; i < block->threads; i++) {
    (__tsan_create_fiber ? now.used_stacks : now.stacks).push_back(block->lanes[i].stack);
    if (__tsan_destroy_fiber) __tsan_destroy_fiber(block->lanes[i].thread);
  }
  for (size_t i = 0; i < now.alive.size(); i++) {
    if (now.alive[i] == block) now.alive.erase(now.alive.begin() + (long)i);
  }
  if (!__tsan_create_fiber) {
    for (size_t i = 0; i < now.used_shared.size(); i++) {
      Memory memory = now.used_shared[i];
      if ((char*)block->shared < memory.base || (char*)block->shared > memory.base + memory.size) continue;
      now.shared.push_back(memory);
      now.used_shared.erase(now.used_shared.begin() + (long)i);
      break;
    }
  }
  now.blocks.push_back(block);
}

// The first set bit from `start` on, around; LANES if there is none.
static unsigned find(const u64* words, unsigned start) {
  for (unsigned i = 0; i <= WORDS; i++) {
    const unsigned word = (start / 64 + i) % WORDS;
    u64 bits = words[word];
    if (i == 0) bits &= ~0ull << start % 64;
    if (bits) return word * 64 + (unsigned)__builtin_ctzll(bits);
  }
  return LANES;
}

static unsigned find_last(const u64* words) {
  for (unsigned i = WORDS; i-- > 0;) {
    if (words[i]) return i * 64 + 63 - (unsigned)__builtin_clzll(words[i]);
  }
  return LANES;
}

static Lane* pick() {
  const size_t n = now.alive.size();
  const size_t first = now.launch.order == RANDOM ? draw() % n : 0;
  for (size_t k = 0; k < n; k++) {
    Block* block = now.alive[(first + k) % n];
    const unsigned i = now.launch.order == RANDOM       ? find(block->ready, (unsigned)(draw() % block->threads))
                       : now.launch.order == DESCENDING ? find_last(block->ready)
                                                        : find(block->ready, 0);
    if (i == LANES) continue;
    block->ready[i / 64] &= ~(1ull << i % 64);
    return &block->lanes[i];
  }
  return nullptr;
}

// No lane is ready: those that poll look again, unless they have done so in vain for too long.
static bool look_again() {
  bool any = false;
  for (Block* block : now.alive) {
    for (unsigned i = 0; i < WORDS; i++) {
      any |= block->polling[i] != 0;
      block->ready[i] |= block->polling[i];
      block->polling[i] = 0;
    }
  }
  if (any && ++now.rounds < ROUNDS) return true;
  say("kernel %s does not end: %s", now.name, any ? "lanes poll in vain; " : "");
  for (size_t i = 0; i < now.alive.size() && i < 4; i++) {
    if (i) say("; ");
    say_lanes(now.alive[i]);
  }
  return false;
}

static void order_blocks(std::vector<unsigned>& numbers) {
  for (size_t i = 0; i < numbers.size(); i++) numbers[i] = (unsigned)i;
  for (size_t i = 0; i < numbers.size(); i++) {
    const size_t j = now.launch.order == DESCENDING ? numbers.size() - 1 - i
                     : now.launch.order == RANDOM   ? i + draw() % (numbers.size() - i)
                                                    : i;
    if (now.launch.order == RANDOM || i < j) {
      const unsigned number = numbers[i];
      numbers[i] = numbers[j];
      numbers[j] = number;
    }
  }
}

static void run_blocks(const std::vector<unsigned>& numbers) {
  const size_t together = now.launch.cooperative ? numbers.size() : now.launch.order == RANDOM ? 4 : 1;
  size_t next = 0;
  while (!now.failed) {
    while (next < numbers.size() && now.alive.size() < together) start_block(numbers[next++]);
    if (now.alive.empty()) return;
    Lane* lane = pick();
    if (lane == nullptr) {
      now.failed = !look_again();
      continue;
    }
    enter(lane);
    if (lane->block->alive == 0) end_block(lane->block);
  }
}

// -- faults -----------------------------------------------------------------------------------------------------------

static void fault(int signal, siginfo_t* info, void*) {
  say_where();
  if (signal == SIGFPE) {
    say("integer division by zero or overflow");
  } else if (signal == SIGILL) {
    say("illegal instruction");
  } else {
    const char* address = (const char*)info->si_addr;
    const char* stack = now.lane->stack;
    const unsigned char* shared = now.lane->block->shared;
    const bool in_shared = address + 4096 >= (const char*)shared && address < (const char*)shared + now.launch.shared + 4096;
    say("illegal address %p", (const void*)address);
    if (address < stack && address >= stack - 4096) say(" (the stack of the lane is full)");
    if (in_shared) say(" (byte %lld of %llu of shared memory)", (long long)(address - (const char*)shared), now.launch.shared);
  }
  siglongjmp(now.trap, 1);
}

static const int SIGNALS[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

// Runs the blocks; true if a lane did what the processor refuses. Sanitizers report that better.
static bool faulted(const std::vector<unsigned>& numbers) {
  if (__asan_init || __tsan_create_fiber) {
    run_blocks(numbers);
    return false;
  }
  static char stack[65536];
  static struct sigaction before[4];
  stack_t other = {}, old = {};
  other.ss_sp = stack;
  other.ss_size = sizeof stack;
  sigaltstack(&other, &old);
  struct sigaction action = {};
  action.sa_sigaction = fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int i = 0; i < 4; i++) sigaction(SIGNALS[i], &action, &before[i]);
  const bool trapped = sigsetjmp(now.trap, 1) != 0;
  if (!trapped) run_blocks(numbers);
  for (int i = 0; i < 4; i++) sigaction(SIGNALS[i], &before[i], nullptr);
  sigaltstack(&old, nullptr);
  return trapped;
}

extern "C" int emulated_run(const char* name, void (*body)(const u64*), const u64* launch, const u64* arguments,
                            char* message, u64 size) {
  memcpy(&now.launch, launch, sizeof(Launch));
  now.name = name;
  now.body = body;
  now.arguments = arguments;
  now.message = message;
  now.size = size;
  now.failed = false;
  now.random = now.launch.seed;
  now.rounds = 0;
  message[0] = 0;
  blockDim.x = (unsigned)now.launch.threads;
  gridDim.x = (unsigned)now.launch.blocks;
  if (now.launch.threads == 0 || now.launch.threads > LANES || now.launch.threads % 32) {
    say("kernel %s: %llu threads a block", name, now.launch.threads);
    return 1;
  }
  if (__tsan_get_current_fiber) now.thread = __tsan_get_current_fiber();
  std::vector<unsigned> numbers(now.launch.blocks);
  order_blocks(numbers);

  now.failed = faulted(numbers) || now.failed;
  now.lane = nullptr;
  while (!now.alive.empty()) end_block(now.alive.back());
  if (__tsan_acquire) __tsan_acquire(&now.finished);
  now.stacks.insert(now.stacks.end(), now.used_stacks.begin(), now.used_stacks.end());
  now.shared.insert(now.shared.end(), now.used_shared.begin(), now.used_shared.end());
  now.used_stacks.clear();
  now.used_shared.clear();
  return now.failed;
}
