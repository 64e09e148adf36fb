# Warnings, hardening and sanitizers of our own code only: nothing here reaches a project that uses Ronde.
# `ronde_flags` is for everything, `ronde_product_flags` for what is installed.

# Whose instructions there is code for, in files of this name: x86 or arm, both of 64 bits, or other.
set(RONDE_PROCESSOR other)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(RONDE_PROCESSOR x86)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(RONDE_PROCESSOR arm)
endif()

add_library(ronde_flags INTERFACE)
target_compile_options(ronde_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wshadow)
# Fused multiply-adds in kernels only, which ask for them. Elsewhere compilers would use them on ARM, whose processors
# all have them, and not on x86-64: what ranks compute each for themselves would depend on the processor.
target_compile_options(ronde_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
set(RONDE_FUSED_FLAGS -ffp-contract=fast)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND RONDE_PROCESSOR STREQUAL "x86")
  # GCC 14 multiplies and adds in two instructions where a sum is one chain: sums of one row would be other bits.
  list(APPEND RONDE_FUSED_FLAGS --param=avoid-fma-max-bits=0)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(ronde_flags INTERFACE -Wno-pass-failed)  # what could not be made of a loop is no defect
endif()
if(CMAKE_UNITY_BUILD)
  # A class of a source file may have members of types that only that file knows, when others are compiled with it too.
  target_compile_options(ronde_flags INTERFACE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>)
endif()
add_library(ronde_product_flags INTERFACE)
target_link_libraries(ronde_product_flags INTERFACE ronde_flags)

# For code that calls others' loops: made for size it compiles in three quarters of the time, to half the bytes.
add_library(ronde_small_code INTERFACE)
target_compile_options(ronde_small_code INTERFACE $<$<CONFIG:Release>:-Os>)

# Rooms are objects that become one library, of which users see what RONDE_API marks. With sanitizers, objects of 170 MB
# in each test would take longer to link than to run: there a room is a library of its own, and all of it is visible.
set(RONDE_ROOM_TYPE OBJECT)
set(RONDE_ROOM_VISIBILITY hidden)

if(RONDE_SANITIZE)
  set(RONDE_ROOM_TYPE SHARED)
  set(RONDE_ROOM_VISIBILITY default)
  # Options of the folder come before those of a target, which can so take a sanitizer back; what a target gets from a
  # library comes after its own.
  add_compile_options(-fsanitize=${RONDE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${RONDE_SANITIZE})
  if(RONDE_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # It looks for an object's type through a pipe, which is not there in tests that leave no file descriptor.
    add_compile_options(-fno-sanitize=vptr)
  endif()
else()
  target_compile_options(ronde_product_flags INTERFACE -ffunction-sections -fdata-sections)
  target_link_options(ronde_product_flags INTERFACE -Wl,--gc-sections)  # what nothing calls
endif()
if(RONDE_HARDEN AND NOT RONDE_SANITIZE)
  target_compile_options(ronde_product_flags INTERFACE
    -fstack-protector-strong -Werror=format-security
    # Shadow stacks; branch targets, which Linux tracks in its kernel alone, would take 3 % of the code.
    $<$<STREQUAL:${RONDE_PROCESSOR},x86>:-fcf-protection=return>
    $<$<STREQUAL:${RONDE_PROCESSOR},arm>:-mbranch-protection=standard>
    $<$<CXX_COMPILER_ID:GNU>:-fstack-clash-protection>
    $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE>
    $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-D_FORTIFY_SOURCE=2>)
  target_link_options(ronde_product_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
endif()
