# Every third-party library as an imported or interface target; docs/dependencies.md says why each.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
pkg_check_modules(KC_YAML REQUIRED IMPORTED_TARGET yaml-cpp)
pkg_check_modules(KC_CRYPTO REQUIRED IMPORTED_TARGET libcrypto)
pkg_check_modules(KC_HDF5 REQUIRED IMPORTED_TARGET hdf5-serial)
pkg_check_modules(KC_MUPARSER REQUIRED IMPORTED_TARGET muparser)
pkg_check_modules(KC_HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)
pkg_check_modules(KC_SECCOMP REQUIRED IMPORTED_TARGET libseccomp)
pkg_check_modules(KC_PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)

# Not by pkg-config: Debian 13's sentencepiece.pc asks for protobuf's, which its package does not bring.
find_path(KC_SENTENCEPIECE_INCLUDE sentencepiece_processor.h REQUIRED)
find_library(KC_SENTENCEPIECE sentencepiece REQUIRED)
find_library(KC_SENTENCEPIECE_TRAIN sentencepiece_train REQUIRED)
add_library(kc_sentencepiece INTERFACE)
target_include_directories(kc_sentencepiece SYSTEM INTERFACE ${KC_SENTENCEPIECE_INCLUDE})
target_link_libraries(kc_sentencepiece INTERFACE ${KC_SENTENCEPIECE_TRAIN} ${KC_SENTENCEPIECE})

# LibTorch by hand: find_package(Torch) insists on a matching CUDA toolkit even for CPU-only programs.
if(KERNELCAST_TORCH)
  set(kc_torch_dir "${KERNELCAST_LIBTORCH}")
  if(NOT kc_torch_dir)
    set(kc_torch_dir "$ENV{KERNELCAST_LIBTORCH}")
  endif()
  if(NOT kc_torch_dir)
    file(GLOB kc_torch_dir "${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch")
  endif()
  if(NOT EXISTS "${kc_torch_dir}/lib/libtorch_cpu.so")
    message(FATAL_ERROR "LibTorch not found (looked in '${kc_torch_dir}'). Run scripts/setup, or set KERNELCAST_LIBTORCH to a folder with lib/libtorch_cpu.so.")
  endif()
  file(GLOB kc_nvidia_libs "${kc_torch_dir}/../nvidia/*/lib")
  add_library(kc_torch INTERFACE)
  target_include_directories(kc_torch SYSTEM INTERFACE
    ${kc_torch_dir}/include ${kc_torch_dir}/include/torch/csrc/api/include)
  # Its include folder holds a newer fmt, which hides the system's and whose library it does not ship.
  target_compile_definitions(kc_torch INTERFACE
    AT_PER_OPERATOR_HEADERS TORCH_ASSERT_ONLY_METHOD_OPERATORS FMT_HEADER_ONLY)
  target_link_libraries(kc_torch INTERFACE
    ${kc_torch_dir}/lib/libtorch_cpu.so ${kc_torch_dir}/lib/libc10.so Threads::Threads)
  target_link_options(kc_torch INTERFACE -Wl,-rpath,${kc_torch_dir}/lib -Wl,-rpath-link,${kc_torch_dir}/lib)
  foreach(dir IN LISTS kc_nvidia_libs)
    target_link_options(kc_torch INTERFACE -Wl,-rpath-link,${dir})
  endforeach()
  # libtorch_cuda registers the CUDA kernels when it is loaded; nothing refers to its symbols, hence no-as-needed.
  if(EXISTS "${kc_torch_dir}/lib/libtorch_cuda.so" AND EXISTS "${kc_torch_dir}/../nvidia/nccl/lib")
    target_link_options(kc_torch INTERFACE
      -Wl,--no-as-needed ${kc_torch_dir}/lib/libtorch_cuda.so ${kc_torch_dir}/lib/libc10_cuda.so -Wl,--as-needed)
  endif()
endif()
