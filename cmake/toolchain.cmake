# Compiler settings as two INTERFACE targets, so that no global flag is edited.
add_library(kc_warnings INTERFACE)
# -Wrestrict of g++ 12 cries wolf on std::string concatenation at -O3 (GCC bug 105651).
target_compile_options(kc_warnings INTERFACE -Wall -Wextra -Wconversion -Wshadow -Wno-sign-conversion
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<BOOL:${KERNELCAST_WERROR}>:-Werror>)

add_library(kc_sanitizers INTERFACE)
if(KERNELCAST_SANITIZE)
  if("thread" IN_LIST KERNELCAST_SANITIZE AND "address" IN_LIST KERNELCAST_SANITIZE)
    message(FATAL_ERROR "KERNELCAST_SANITIZE: 'address' and 'thread' exclude each other; choose one")
  endif()
  list(JOIN KERNELCAST_SANITIZE "," kc_sanitizer_list)
  target_compile_options(kc_sanitizers INTERFACE -fsanitize=${kc_sanitizer_list} -fno-omit-frame-pointer -g)
  target_link_options(kc_sanitizers INTERFACE -fsanitize=${kc_sanitizer_list})
endif()
if(KERNELCAST_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "KERNELCAST_FUZZ needs clang's libFuzzer; configure with `cmake --preset fuzz`")
  endif()
  target_compile_options(kc_sanitizers INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_program(KC_CCACHE ccache)
if(KC_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${KC_CCACHE})
endif()

# lld links the programs several times faster than GNU ld.
find_program(KC_LLD ld.lld)
add_library(kc_linker INTERFACE)
if(KC_LLD)
  target_link_options(kc_linker INTERFACE -fuse-ld=lld)
endif()
