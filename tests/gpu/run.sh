#!/usr/bin/env bash
# What a machine with a GPU has to say of class Cuda: builds libetude_cuda.so and the tests, and runs them on the GPU.
# Wants CMake, ninja, g++ and nvcc, and nothing from a network: ./dev gpu-bundle packs the sources, with the headers that
# they include, NVRTC and Fashion-MNIST, in toolchain/ beside them. Then it times training there; fails, too, where a
# peer fails or comes to another loss.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=build/gpu
toolchain=${ETUDE_TOOLCHAIN:-$PWD/toolchain}
export PATH=$PATH:/usr/local/cuda/bin
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/cuda/lib64:$toolchain/nvrtc

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
nvcc --version | tail -2 | head -1
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DETUDE_CUDA=ON -DETUDE_TOOLCHAIN="$toolchain" >/dev/null
cmake --build "$build" --target etude_cuda etude_gpu_tests etude_tests etude_bench etude_gpu_peak

failed=()
run() {
  printf '» %s\n' "$*"
  "$@" || failed+=("$*")
}
# Every op: GPU against processor. Models: trained there as here, recorded as queued, run as run again, replicas on one
# GPU as replicas on processors, and, where there are several and NCCL, on several; Catch2 says what was skipped, and why.
run "$build/tests/etude_gpu_tests"
# The same with products of our own instead of cuBLASLt's.
ETUDE_CUBLASLT=0 run "$build/tests/etude_gpu_tests"
# The library, as a program loads it.
ETUDE_DEVICE_LIBRARY=$PWD/$build/native/cuda/libetude_cuda.so run "$build/tests/etude_tests" '[gpu]'
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck initcheck synccheck; do
    run compute-sanitizer --tool $tool --error-exitcode 1 "$build/tests/etude_gpu_tests" '[training]'
  done
  # What the vendor's products do among themselves is not ours to check.
  ETUDE_CUBLASLT=0 run compute-sanitizer --tool racecheck --error-exitcode 1 "$build/tests/etude_gpu_tests" '[training]'
else
  echo "skipped: compute-sanitizer is not installed"
fi
# Every workload beside PyTorch and JAX, as far as this machine's Python has them (ETUDE_PYTHON), and the floor.
[[ ! -e $toolchain/fashion-mnist ]] || export ETUDE_FASHION_MNIST=$toolchain/fashion-mnist
ETUDE_DEVICE_LIBRARY=$PWD/$build/native/cuda/libetude_cuda.so ETUDE_DEVICE=/gpu:0 \
  run "${ETUDE_PYTHON:-python3}" tests/gpu/bench/bench.py "$build/tests/bench/etude_bench" "$build/tests/etude_gpu_peak"
((${#failed[@]} == 0)) || { printf 'failed: %s\n' "${failed[@]}"; exit 1; }
echo "all passed on $(nvidia-smi --query-gpu=name --format=csv,noheader | head -1)"
