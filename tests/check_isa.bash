#!/usr/bin/env bash
# check_isa.bash BUILD_FOLDER  Fails if an object compiled for AVX2 or AVX-512 defines a function that other objects may
# share (an inline function of a header outside that instruction set's namespace): the linker keeps one copy for all
# objects, and a processor without those instructions would run it.
set -euo pipefail
found=0
for isa in avx2 avx512; do
  for object in "$1"/CMakeFiles/etude_core_$isa.dir/core/etude/kernels/cpu/isa/*.o; do
    [[ -e $object ]] || { echo "no objects for $isa in $1" >&2; exit 1; }
    shared=$(nm -C --defined-only "$object" | sed -n 's/^[0-9a-f]* W //p' | grep -v "$isa" || true)
    [[ -z $shared ]] || { printf '%s shares:\n%s\n' "${object##*/} ($isa)" "$shared" >&2; found=1; }
  done
done
exit $found
