# ronde_room(NAME core [LINKS rooms] [PRIVATE_LINKS libraries] SOURCES files): one folder of the house.
#
# A room is a library of objects with its own include root, so that a header of a room it does not link cannot be
# included: layering is a compile error. Its headers are checked to stand alone (target
# all_verify_interface_header_sets).
function(ronde_room)
  cmake_parse_arguments(ROOM "" "NAME" "LINKS;PRIVATE_LINKS;SOURCES" ${ARGN})
  set(target ronde_${ROOM_NAME})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/include/*.h)
  add_library(${target} ${RONDE_ROOM_TYPE})
  target_sources(${target} PRIVATE ${ROOM_SOURCES}
    PUBLIC FILE_SET HEADERS BASE_DIRS include FILES ${headers})
  target_include_directories(${target} PRIVATE src)
  target_link_libraries(${target} PUBLIC ${ROOM_LINKS} PRIVATE ${ROOM_PRIVATE_LINKS} ronde_product_flags)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET ${RONDE_ROOM_VISIBILITY}
    VISIBILITY_INLINES_HIDDEN ON
    VERIFY_INTERFACE_HEADER_SETS ON)
  if(ROOM_NAME MATCHES "^(nn|models)$")
    target_link_libraries(${target} PRIVATE ronde_small_code)
  endif()
  # Under sanitizers only what loops over values is optimised: the rest would take longer to compile than it saves.
  if(RONDE_SANITIZE AND ROOM_NAME MATCHES "^(core|data)$")
    target_compile_options(${target} PRIVATE -O1)
  endif()
  # Pointers that lead nowhere end in AddressSanitizer too; looking at each one before is a quarter of the compiler's time,
  # and a third of the kernels' in the tests. `data` and `distributed`, which read bytes from elsewhere, keep it.
  if(RONDE_SANITIZE MATCHES "undefined" AND ROOM_NAME MATCHES "^(core|nn|models)$")
    target_compile_options(${target} PRIVATE -fno-sanitize=null,alignment,object-size,pointer-overflow)
  endif()
  ronde_precompile(${target})
  set_property(GLOBAL APPEND PROPERTY RONDE_ROOMS ${target})
endfunction()

# Parses the standard library once per target instead of once per file. Not with ccache, which caches better without;
# so a header that a file forgets to include is still found.
function(ronde_precompile target)
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <cmath> <cstdint> <functional> <map> <memory> <optional> <string> <utility> <vector> ${ARGN})
  endif()
endfunction()
