// The scheduler of emulated kernels: lanes are fibers, and each runs until its next synchronisation.
//
// A lane runs until it waits at a barrier or at a warp operation, or polls. Then another ready lane runs, chosen in the
// order of the launch (ascending, descending, random). Lanes that lack a synchronisation thus see each other's writes
// too late or too early. Random order also switches lanes before atomic operations. A deadlock is reported with the
// places where lanes wait.
//
// Compiled once, without sanitizers. If a sanitizer is loaded, its fiber interface is informed of every switch. For the
// thread sanitizer, lanes are ordered by barriers, __syncwarp and fences, and by nothing else.
#include <csignal>

#include "meetings.h"

// -- scheduler --------------------------------------------------------------------------------------------------------

// The thread sanitizer takes lanes on one fiber to be ordered. Under it each lane has its own fiber, up to a limit.
static Fiber take_fiber() {
  if (now.fibers.empty() && now.used_fibers.size() >= FIBERS) now.fibers.swap(now.used_fibers);
  if (now.fibers.empty()) {
    void* thread = __tsan_create_fiber ? __tsan_create_fiber(0) : nullptr;
    now.fibers.push_back({fenced(stack_size(), PAGE).base, thread});
  }
  const Fiber fiber = now.fibers.back();
  now.fibers.pop_back();
  if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(fiber.stack, stack_size());
  return fiber;
}

static Memory take_shared() {
  const size_t bytes = (now.launch.shared + 15) / 16 * 16;
  for (size_t i = 0; i < now.shared.size(); i++) {
    if (now.shared[i].size >= bytes && now.shared[i].size < bytes + PAGE) {
      Memory memory = now.shared[i];
      now.shared.erase(now.shared.begin() + (long)i);
      return memory;
    }
  }
  return fenced(bytes, 64 * PAGE);
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
    lane->fiber = take_fiber();
    prepare(&lane->context, lane->fiber.stack, stack_size(), run_lane);
    set(block->ready, i);
  }
  if (__tsan_release) __tsan_release(&now.started);
  now.alive.push_back(block);
}

// The thread sanitizer must not see the same shared memory twice in a launch, because lanes that use it in turn are not
// ordered.
static void end_block(Block* block) {
  for (unsigned i = 0; i < block->threads; i++) {
    (__tsan_create_fiber ? now.used_fibers : now.fibers).push_back(block->lanes[i].fiber);
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

// The first set bit from `start` on, cyclically; LANES if there is none.
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

// No lane is ready: polling lanes poll again, unless they have done so without effect for too long.
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
    const char* stack = now.lane->fiber.stack;
    const long long byte = address - (const char*)now.lane->block->shared, end = (long long)now.launch.shared;
    const long long page = (long long)PAGE;
    say("illegal address %p", (const void*)address);
    if (address < stack && address >= stack - PAGE) say(" (the stack of the lane is full)");
    if (byte >= -page && byte < end + page) say(" (byte %lld of %lld of shared memory)", byte, end);
  }
  siglongjmp(now.trap, 1);
}

static const int SIGNALS[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

// Runs the blocks; returns true if a lane caused a processor fault. Sanitizers report such faults better.
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

// Whether the thread sanitizer watches lanes. It can only name functions of libraries loaded before its first report,
// so a first run, which it does not watch, loads them.
extern "C" void emulated_watch(int on) { now.unwatched = !on; }

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
  now.met = 0;
  message[0] = 0;
  blockDim.x = (unsigned)now.launch.threads;
  gridDim.x = (unsigned)now.launch.blocks;
  if (now.launch.threads == 0 || now.launch.threads > LANES || now.launch.threads % 32) {
    say("kernel %s: %llu threads a block", name, now.launch.threads);
    return 1;
  }
  if (__tsan_get_current_fiber) now.thread = __tsan_get_current_fiber();
  std::vector<unsigned> numbers(now.launch.blocks * now.launch.devices);
  order_blocks(numbers);

  now.failed = faulted(numbers) || now.failed;
  now.lane = nullptr;
  while (!now.alive.empty()) end_block(now.alive.back());
  if (__tsan_acquire) __tsan_acquire(&now.finished);
  now.fibers.insert(now.fibers.end(), now.used_fibers.begin(), now.used_fibers.end());
  now.shared.insert(now.shared.end(), now.used_shared.begin(), now.used_shared.end());
  now.used_fibers.clear();
  now.used_shared.clear();
  return now.failed;
}
