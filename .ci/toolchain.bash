# Installs the tools for building Étude. ./dev sources this file and calls the pieces that a command needs.
#
# Existing installations are used: emsdk (EMSDK, or an emcc on PATH), CMake, Node.js, libraries. Packages are installed on
# Debian only: those of its release, system-wide; those of a newer release, unpacked in a folder in the user's cache,
# because adding a newer suite to the system's apt would upgrade its libc.

toolchain=${ETUDE_TOOLCHAIN:-${XDG_CACHE_HOME:-$HOME/.cache}/etude/toolchain}
newer_suite=trixie
emscripten_oldest=3.1.60
node_oldest=20

say() { printf '\e[1m» %s\e[0m\n' "$*" >&2; }
fail() { printf 'dev: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null; }
as_root() { if ((EUID)); then sudo "$@"; else "$@"; fi; }
at_least() { [[ $(printf '%s\n' "$1" "$2" | sort -V | head -1) == "$1" ]]; } # at_least OLDEST FOUND

# Runs one such command at a time, because two would unpack into the same folder.
locked() {
  mkdir -p "$toolchain"
  if have flock; then (flock 9; "$@") 9>"$toolchain/.lock"; else "$@"; fi
}

# want PROBE:PACKAGE…  A probe is a command or an absolute path; packages whose probe is missing are installed.
want() {
  local pair missing=()
  for pair; do
    [[ -e ${pair%%:*} ]] || have "${pair%%:*}" || missing+=("${pair##*:}")
  done
  ((${#missing[@]})) || return 0
  have apt-get || { say "not found, and there is no apt-get to install it: ${missing[*]}"; return 0; } # CMake reports what is missing
  say "installing ${missing[*]}"
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}")
  as_root "${install[@]}" >/dev/null 2>&1 || { as_root apt-get update -qq && as_root "${install[@]}" >/dev/null; }
}

# apt_newer COMMAND…  runs apt-get for one newer suite only, with separate lists. It uses the address of this machine's
# source with the name of that suite, so a mirror is kept. newer_component: a component other than main.
apt_newer() {
  local component=${newer_component:-main} apt
  apt=$toolchain/apt${newer_component:+-$newer_component}
  local options=(-qq -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::Lists=$apt/lists"
    -o APT::Sandbox::User=root)
  if [[ ! -e $apt/ready ]]; then
    local mirror signed=/usr/share/keyrings/debian-archive-keyring.gpg
    mirror=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(COMPONENT)' 'Created-By: Packages' |
      awk '$1 == "Debian" && $3 == "main" && !found { print $2; found = 1 }')
    [[ $mirror ]] || fail "no Debian archive among this machine's apt sources - install emsdk, xsimd ≥ 13 and Catch2 ≥ 3 yourself"
    mkdir -p "$apt/lists/partial"
    printf "%s [signed-by=$signed] $mirror $newer_suite $component\n" deb deb-src >"$apt/sources.list"
    apt-get "${options[@]}" update
    touch "$apt/ready"
  fi
  apt-get "${options[@]}" "$@"
}

# unpack_newer FOLDER PACKAGE…  downloads packages and unpacks them in FOLDER, without changing anything else.
unpack_newer() {
  local into=$1 downloads deb
  shift
  downloads=$(mktemp -d -p "$toolchain")
  mkdir -p "$into"
  (cd "$downloads" && apt_newer download "$@")
  for deb in "$downloads"/*.deb; do dpkg-deb -x "$deb" "$into"; done
  rm -rf "$downloads"
}

# ---- the pieces ----

# The requirements of the library and the README's programs.
setup_core() {
  want g++:g++ cmake:cmake ninja:ninja-build ccache:ccache /usr/include/zlib.h:zlib1g-dev \
    /usr/include/png.h:libpng-dev /usr/include/jpeglib.h:libjpeg-dev /usr/include/nlohmann/json.hpp:nlohmann-json3-dev \
    /usr/include/protozero/pbf_writer.hpp:libprotozero-dev
  [[ -e $toolchain/include/xsimd/xsimd.hpp && -e $toolchain/zlib/zlib.h ]] && return
  have apt-get || return 0
  locked unpack_xsimd
  locked unpack_source zlib
}

# The requirements of the tests, and of programs with options.
setup_native() {
  setup_core
  want /usr/include/eigen3/Eigen/Core:libeigen3-dev /usr/include/CLI/CLI.hpp:libcli11-dev
  [[ -e $toolchain/catch2/CMakeLists.txt ]] && return
  have apt-get || return 0
  locked unpack_source catch2
}

# The library that connects processes. Its headers need no others.
setup_gloo() {
  want /usr/include/gloo/allreduce.h:libgloo-dev /usr/sbin/ip:iproute2
}

setup_mpi() {
  want /usr/bin/mpicc:libopenmpi-dev /usr/bin/mpirun:openmpi-bin
}

setup_coordinator() {
  want /usr/include/capnp/rpc-twoparty.h:libcapnp-dev /usr/bin/capnp:capnproto
}

# xsimd, zlib and Catch2 as sources, shared by every compiler and sanitizer and by wasm.
unpack_xsimd() {
  [[ -e $toolchain/include/xsimd/xsimd.hpp ]] && return # another ./dev has done it
  say "unpacking xsimd into $toolchain"
  unpack_newer "$toolchain/xsimd" libxsimd-dev
  mkdir -p "$toolchain/include"
  ln -sfn ../xsimd/usr/include/xsimd "$toolchain/include/xsimd"
}

# unpack_source PACKAGE  unpacks the sources of a package, without Debian's changes to them.
unpack_source() {
  [[ -e $toolchain/$1/CMakeLists.txt ]] && return
  say "unpacking $1 into $toolchain"
  local downloads
  downloads=$(mktemp -d -p "$toolchain")
  (cd "$downloads" && apt_newer source --tar-only "$1" && mkdir tree && tar -xf ./*.orig.tar.* --strip-components=1 -C tree)
  rm -rf "${toolchain:?}/$1"
  mv "$downloads/tree" "$toolchain/$1"
  rm -rf "$downloads"
}

# Debian bookworm's Node.js is 18; npm itself can fetch a newer one.
setup_node() {
  PATH=$toolchain/node/node_modules/node/bin:$PATH
  node_is_recent && have npm && return
  want npm:npm
  node_is_recent && return
  say "installing Node.js $node_oldest into $toolchain"
  locked npm install --silent --no-fund --no-audit --prefix "$toolchain/node" "node@$node_oldest"
  hash -r
}
node_is_recent() { have node && at_least "$node_oldest" "$(node --version | tr -d v)"; }

setup_wasm() { setup_native; setup_wasm_core; }

# Finds Emscripten (emsdk, then PATH, then the folder in the cache) and sets ETUDE_EMSCRIPTEN for CMakePresets.json.
setup_wasm_core() {
  local found
  setup_core
  setup_node
  for found in "${EMSDK:+$EMSDK/upstream/emscripten}" "$(dirname "$(readlink -f "$(command -v emcc || echo /none/emcc)")")" \
    "$toolchain/emscripten"; do
    [[ -e $found/emscripten-version.txt ]] || continue
    at_least "$emscripten_oldest" "$(tr -d '"\n' <"$found/emscripten-version.txt")" || continue
    export ETUDE_EMSCRIPTEN=$found
    name_python
    return
  done
  have apt-get || fail "Emscripten ≥ $emscripten_oldest not found - install emsdk and set EMSDK, or put emcc on PATH"
  want clang-19:clang-19 wasm-ld-19:lld-19 llvm-ar-19:llvm-19 python3:python3
  locked setup_emscripten
  export ETUDE_EMSCRIPTEN=$toolchain/emscripten
  name_python
}

# Sets EMSDK_PYTHON. em++ starts Python for each object, which takes longer through the script of a version manager.
name_python() {
  [[ ${EMSDK_PYTHON:-} ]] || ! have python3 || EMSDK_PYTHON=$(python3 -c 'import sys; print(sys.executable)')
  export EMSDK_PYTHON
}

setup_emscripten() {
  [[ -e $toolchain/emscripten/emscripten-version.txt ]] && return # another ./dev has done it
  local root=$toolchain/emscripten.deb
  say "unpacking Emscripten into $toolchain (1.7 GB; about a minute)"
  rm -rf "$root"
  unpack_newer "$root" emscripten binaryen libc6 libstdc++6 libgcc-s1

  # Binaryen was linked against the newer suite's libc: each tool starts through the loader of that libc.
  local loader libraries tool
  loader=$(echo "$root"/usr/lib/*/ld-linux-*.so.*)
  libraries=$(dirname "$loader")
  mkdir -p "$root/binaryen/bin"
  for tool in "$root"/usr/bin/wasm*; do
    printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' "$loader" "$libraries" "$tool" >"$root/binaryen/bin/${tool##*/}"
  done
  chmod +x "$root"/binaryen/bin/*

  # Emscripten parses JavaScript with acorn; --emit-tsd calls typescript.
  npm install --silent --no-fund --no-audit --prefix "$root" acorn@8 typescript@5
  cat >"$root/usr/share/emscripten/.emscripten" <<CONFIG
import os
LLVM_ROOT = '/usr/bin'
LLVM_ADD_VERSION = CLANG_ADD_VERSION = '19'
BINARYEN_ROOT = '$root/binaryen'
NODE_JS = '$(command -v node)'
CACHE = '$root/usr/share/emscripten/cache'
FROZEN_CACHE = True
os.environ['PATH'] += ':$root/node_modules/.bin'  # Debian's Emscripten looks for tsc on PATH only
CONFIG
  ln -sfn emscripten.deb/usr/share/emscripten "$toolchain/emscripten" # last: it marks the end of the setup
}

setup_clang() { setup_native; want clang++-19:clang-19 ld.lld-19:lld-19; }
setup_fuzz() { setup_clang; want /usr/lib/llvm-19/lib/clang/19/lib/linux:libclang-rt-19-dev; }
setup_format() { want clang-format-19:clang-format-19; }
setup_docs() { want doxygen:doxygen /usr/share/doxygen-awesome-css/doxygen-awesome.css:doxygen-awesome-css; }
setup_images() { want /usr/share/datasets/fashion-mnist:dataset-fashion-mnist; }
# A test creates a locale from de_DE, which has decimal commas.
setup_data() { setup_images; want /usr/share/i18n/locales/de_DE:locales; }
setup_browser() { want chromium:chromium; }

# Returns false without nvcc, which must be installed. Fetches from PyPI what the system lacks: NVRTC, also that of CUDA
# 12, and cuobjdump, which lists the code of ptxas.
setup_cuda() {
  setup_native
  have nvcc || PATH=$PATH:/usr/local/cuda/bin
  have nvcc || return
  PATH=$PATH:$toolchain/cuda-tools
  export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$toolchain/nvrtc
  has_nvrtc || unpack_wheel nvrtc lib nvidia-cuda-nvrtc || true
  [[ -e $toolchain/nvrtc-12 ]] || unpack_wheel nvrtc-12 lib nvidia-cuda-nvrtc-cu12 || true
  have cuobjdump || unpack_wheel cuda-tools bin nvidia-cuda-cuobjdump || true
}
has_nvrtc() { [[ $(ldconfig -p) == *libnvrtc.so* || -e $toolchain/nvrtc ]]; }

# CUDA 12's compiler, for GPU machines with a driver older than CUDA 13: downloads 1 GB and keeps 400 MB.
setup_cuda-12() {
  setup_native
  [[ -e $toolchain/cuda-12/bin/nvcc ]] || locked unpack_cuda_12
}

# Debian distributes the toolkit over several folders. Here nvcc finds all parts next to itself, by its profile.
unpack_cuda_12() {
  [[ ! -e $toolchain/cuda-12/bin/nvcc ]] || return 0 # another ./dev has done it
  say "unpacking CUDA 12 into $toolchain/cuda-12"
  local from=$toolchain/cuda-12.deb into=$toolchain/cuda-12.new tools=usr/lib/nvidia-cuda-toolkit libraries=usr/lib/x86_64-linux-gnu
  rm -rf "$from" "$into"
  newer_component=non-free unpack_newer "$from" nvidia-cuda-toolkit nvidia-cuda-dev libcudart12
  mkdir -p "$into"/{bin,lib64,nvvm}
  cp -r "$from/$tools"/bin/{nvcc,cicc,crt} "$from"/usr/bin/{ptxas,fatbinary,cudafe++,nvlink,bin2c} "$into/bin"
  cp -r "$from/$tools/libdevice" "$into/nvvm" # CMake looks for nvvm/libdevice
  cp -r "$from/usr/include" "$into"
  cp -a "$from/$libraries"/libcudart* "$from/$libraries/libcudadevrt.a" "$into/lib64"
  cat >"$into/bin/nvcc.profile" <<'PROFILE'
TOP = $(_HERE_)/..
NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice
PATH += $(_HERE_):
INCLUDES += "-I$(TOP)/include" $(_SPACE_)
LIBRARIES =+ $(_SPACE_) "-L$(TOP)/lib64"
PROFILE
  rm -rf "$from" "$toolchain/cuda-12"
  mv "$into" "$toolchain/cuda-12"
}

# NVIDIA's headers for the comparison in tests/cuda/real_headers.cpp, as far as the toolkit lacks them: downloads 1.3 GB
# and keeps 4 MB.
setup_cuda-headers() {
  local package
  for package in nvidia-cublas nvidia-cudnn-cu13 nvidia-nccl-cu13 nvidia-cuda-nvrtc; do
    [[ -e $toolchain/cuda-headers/$package ]] || unpack_wheel "cuda-headers/$package" include "$package" ||
      fail "setup cuda-headers: pip cannot fetch $package"
  done
}

# unpack_wheel FOLDER PART PACKAGE  unpacks PART (bin, lib, include) of NVIDIA's Python package into FOLDER of the
# toolchain. Returns false if pip cannot fetch it.
unpack_wheel() {
  want pip3:python3-pip
  say "unpacking $3 into $toolchain/$1"
  locked fetch_wheel "$@" || { say "pip cannot fetch $3"; return 1; }
}

fetch_wheel() {
  local downloads
  [[ ! -e $toolchain/$1 ]] || return 0 # another ./dev has done it
  downloads=$(mktemp -d -p "$toolchain")
  mkdir -p "$(dirname "$toolchain/$1")"
  pip3 download --quiet --no-deps --dest "$downloads" "$3" &&
    python3 - "$downloads" "$2" <<'UNPACK' && chmod -R a+rX "$downloads"/nvidia && mv "$downloads"/nvidia/*/"$2" "$toolchain/$1"
import glob, os, sys, zipfile
folder, part = sys.argv[1:]
with zipfile.ZipFile(glob.glob(folder + "/*.whl")[0]) as wheel:
    for name in wheel.namelist():
        if name.startswith("nvidia/") and name.split("/")[2] == part:
            wheel.extract(name, folder)
            if part == "bin":
                os.chmod(os.path.join(folder, name), 0o755)
UNPACK
  rm -rf "$downloads"
  [[ -e $toolchain/$1 ]]
}

# find_python VARIABLE FOLDER CODE  sets the variable to a Python that runs the code: that of the variable, the system's, or
# that of an environment in the cache. If none does, sets it to the last one, into which the caller installs the packages.
find_python() {
  local python
  for python in "${!1:-python3}" "$toolchain/$2/bin/python"; do
    export "$1=$python"
    "$python" -c "$3" 2>/dev/null && return
  done
  return 1
}

# Finds a Python with PyTorch for the benchmark: that of ETUDE_PYTHON, the system's, or that of an environment in the
# cache, which pip fills from its configured index.
setup_pytorch() {
  find_python ETUDE_PYTHON pytorch 'import torch' && return
  want /usr/share/doc/python3-venv:python3-venv
  say "installing PyTorch into $toolchain/pytorch"
  locked install_pytorch || fail "pip cannot install torch - install Debian's python3-torch, or set ETUDE_PYTHON to a Python that has it"
}

install_pytorch() {
  python3 -m venv "$toolchain/pytorch" && "$toolchain/pytorch/bin/pip" install --quiet torch numpy
}

# Finds a Python with Keras 3 and TensorFlow, in the same way.
setup_keras() {
  KERAS_BACKEND=tensorflow find_python ETUDE_KERAS_PYTHON keras 'import keras, scipy; assert keras.__version__ >= "3"' && return
  want /usr/share/doc/python3-venv:python3-venv
  say "installing Keras into $toolchain/keras"
  locked install_keras || fail "pip cannot install Keras: perhaps PyPI does not answer - set ETUDE_KERAS_PYTHON to a Python that has keras, tensorflow and scipy"
}

# Finds a Python with ONNX Runtime.
setup_onnx() {
  find_python ETUDE_ONNX_PYTHON onnx 'import numpy, onnx, onnxruntime' && return
  want /usr/share/doc/python3-venv:python3-venv
  say "installing ONNX Runtime into $toolchain/onnx"
  locked install_onnx || fail "pip cannot install ONNX Runtime: perhaps PyPI does not answer - set ETUDE_ONNX_PYTHON to a Python that has numpy, onnx and onnxruntime"
}

install_onnx() {
  python3 -m venv "$toolchain/onnx" && "$toolchain/onnx/bin/pip" install --quiet 'onnxruntime==1.*' 'onnx==1.*' numpy
}

install_keras() {
  python3 -m venv "$toolchain/keras" && "$toolchain/keras/bin/pip" install --quiet 'keras==3.15.1' tensorflow-cpu scipy
}
