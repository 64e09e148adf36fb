# Warnings, hardening and sanitizers of our own code only: nothing here reaches a project that uses Ronde.
# `ronde_flags` is for everything, `ronde_product_flags` for what is installed.
add_library(ronde_flags INTERFACE)
target_compile_options(ronde_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wshadow)
add_library(ronde_product_flags INTERFACE)
target_link_libraries(ronde_product_flags INTERFACE ronde_flags)

# What RONDE_API does not mark, users do not see. With sanitizers the tests, which look inside, link the one shared library:
# its 170 MB in each of them would take longer to link than to run.
set(RONDE_VISIBILITY hidden)

if(RONDE_SANITIZE)
  set(RONDE_VISIBILITY default)
  # Short debug information keeps the sanitized suite fast to build.
  target_compile_options(ronde_flags INTERFACE
    -fsanitize=${RONDE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  target_link_options(ronde_flags INTERFACE -fsanitize=${RONDE_SANITIZE})
elseif(RONDE_HARDEN)
  target_compile_options(ronde_product_flags INTERFACE
    -fstack-protector-strong -Werror=format-security
    $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-fcf-protection=full>
    $<$<CXX_COMPILER_ID:GNU>:-fstack-clash-protection>
    $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE>
    $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-D_FORTIFY_SOURCE=2>)
  target_link_options(ronde_product_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
endif()
