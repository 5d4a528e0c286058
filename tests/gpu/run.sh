#!/usr/bin/env bash
# Tests and times class Cuda on a machine with a GPU: tests/gpu/run.sh [--budget SECONDS] [PHASE [ARG…]]…, with the
# phases of phases.py; README.md has the calls for a loan of half an hour. Runs the programs that ./dev gpu-bundle
# packed into bin/; without bin/ it builds them, with CMake, ninja, g++ and nvcc, and without a network.
set -euo pipefail
cd "$(dirname "$0")/../.."
toolchain=${ETUDE_TOOLCHAIN:-$PWD/toolchain}
python=${ETUDE_PYTHON:-python3}
export PATH=$PATH:/usr/local/cuda/bin
# The wheels of that Python come before the system's libraries: its PyTorch uses the wheels.
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
wheels=$(printf '%s:' "$packages"/nvidia/*/lib)
[[ -d ${wheels%%:*} ]] || wheels=
export LD_LIBRARY_PATH=$wheels${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/cuda/lib64:$toolchain/nvrtc
[[ ! -e $toolchain/fashion-mnist ]] || export ETUDE_FASHION_MNIST=$toolchain/fashion-mnist
bin=$PWD/bin
if [[ ! -e $bin ]]; then
  build=build/gpu
  bin=$PWD/$build/bin
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DETUDE_CUDA=ON -DETUDE_TOOLCHAIN="$toolchain" >/dev/null
  cmake --build "$build" --target etude_cuda etude_gpu_tests etude_tests etude_bench etude_gpu_peak
  mkdir -p "$bin"
  ln -sf "$PWD/$build"/{native/cuda/libetude_cuda.so,tests/etude_gpu_tests,tests/etude_tests,tests/etude_gpu_peak} \
    "$PWD/$build/tests/bench/etude_bench" "$bin"
fi
exec "$python" tests/gpu/phases.py "$bin" "$@"
