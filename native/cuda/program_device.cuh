// The text before a program on a GPU. Each thread processes some elements of a segment, W at a time if the segment is
// wide; or each warp processes some rows.

#define ENTRY extern "C" __global__
#define PARAMETER const __grid_constant__ Arguments arguments
#define SEGMENT                                                                                   \
  int own = 0;                                                                                    \
  while (own + 1 < segments && static_cast<int>(blockIdx.x) >= arguments.of[own + 1].first) ++own; \
  const Segment& a = arguments.of[own];
#define FIRST (static_cast<long long>(static_cast<int>(blockIdx.x) - a.first) * blockDim.x + threadIdx.x)
#define STEP (static_cast<long long>(a.blocks) * blockDim.x)
#define EACH_ELEMENT(W)                                                                 \
  const long long whole = W > 1 && a.wide ? a.count / W * W : 0;                        \
  for (long long i = FIRST * W; i < whole; i += STEP * W) element<W>(a, i);             \
  for (long long i = whole + FIRST; i < a.count; i += STEP) element<1>(a, i);
#define EACH_ROW for (long long row = FIRST / LANES; row < a.count; row += STEP / LANES)
#define LANES 32
#define LANE static_cast<int>(threadIdx.x % LANES)
#define EACH _Pragma("unroll") for (int e = 0, column = LANE; e < each; ++e, column += LANES)
#define INFINITE __longlong_as_double(0x7ff0000000000000ll)
#define NOT_A_NUMBER __longlong_as_double(0x7ff8000000000000ll)
template <class T> T across_lanes(T x, int mask) { return __shfl_xor_sync(~0u, x, mask); }
