// Fibers: each has a stack. The address and thread sanitizers can follow switches between them, if one is loaded.
#pragma once
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

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
WEAK void AnnotateIgnoreReadsBegin(const char*, int);
WEAK void AnnotateIgnoreReadsEnd(const char*, int);

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

struct Fiber {
  char* stack;
  void* thread;  // of the thread sanitizer
};

struct Memory {
  char* base;
  size_t size;
};

static size_t stack_size() { return __asan_init || __tsan_create_fiber ? 256 << 10 : 64 << 10; }

static const size_t PAGE = (size_t)sysconf(_SC_PAGESIZE);

// Memory with `margin` inaccessible bytes (whole pages) on either side.
static Memory fenced(size_t bytes, size_t margin) {
  const size_t inner = (bytes + PAGE - 1) / PAGE * PAGE;
  char* base = (char*)mmap(nullptr, inner + 2 * margin, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED || (inner && mprotect(base + margin, inner, PROT_READ | PROT_WRITE))) {
    fprintf(stderr, "no memory for the fibers of a kernel\n");
    abort();
  }
  return {base + margin, inner};
}
