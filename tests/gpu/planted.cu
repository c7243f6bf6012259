// One bug for each tool of compute-sanitizer: a tool that misses its own bug proves nothing.

extern "C" __global__ void memcheck(int* out, int n) {
  out[n + threadIdx.x] = 1;  // out of bounds
}

extern "C" __global__ void racecheck(int* out, int n) {
  __shared__ int cells[256];
  cells[threadIdx.x] = threadIdx.x;
  out[threadIdx.x % n] = cells[(threadIdx.x + 32) % 256];  // another warp's value, without a barrier
}

extern "C" __global__ void initcheck(int* out, int n) {
  if (out[n - 1] == 1234567) out[0] = 1;  // out was never written
}

extern "C" __global__ void synccheck(int* out, int n) {
  if (threadIdx.x % 2) __syncwarp(1u);  // lanes outside their own mask
  if (threadIdx.x < 16) __syncthreads();  // only a part of a warp reaches the barrier
  out[threadIdx.x % n] = 1;
}
