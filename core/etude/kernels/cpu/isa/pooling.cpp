#include "etude/kernels/cpu/isa/pooling.hpp"

#include "etude/kernels/cpu/convolution_kernels.hpp"

namespace etude::cpu::ETUDE_ISA {

template <class T> void max_pool(const PoolArguments<T>& g, Index begin, Index end) {
  constexpr Index most = 256;  // channels at a time, to bound the buffer
  alignas(64) T largest[most], which[most];
  for (Index row = begin; row < end; ++row)
    for (Index q = 0; q < g.columns; ++q)
      for (Index c = 0; c < g.channels; c += most) {
        const Index wide = smaller(g.channels - c, most);
        const Index y = row % g.rows * g.stride_y - g.before_y;
        const Index x = q * g.stride_x - g.before_x;
        const Index at = (row * g.columns + q) * g.channels + c;
        const T* image = g.x + row / g.rows * g.height * g.width * g.channels + c;
        PoolCells<T> cells{
            image + (y * g.width + x) * g.channels, g.width * g.channels, g.channels, g.pool_width, 0, 0, 0, 0};
        cells.clip(y, x, g.height, g.width, g.pool_height);
        pool_cells(cells, wide, g.out ? g.out + at : largest, which);
        if (g.index_byte) to_index(which, wide, g.index_byte + at);
        if (g.index_number) to_index(which, wide, g.index_number + at);
      }
}

template void max_pool(const PoolArguments<float>&, Index, Index);
#ifdef ETUDE_FLOAT64
template void max_pool(const PoolArguments<double>&, Index, Index);
#endif

}  // namespace etude::cpu::ETUDE_ISA
