# ronde_room(NAME core [LINKS rooms] [PRIVATE_LINKS libraries] [OPTIONS of the compiler] SOURCES files [LOOPS files]
# [COLD files]): one folder of the house.
#
# A room is a library of objects with its own include root, so that a header of a room it does not link cannot be
# included: layering is a compile error. Its headers are checked to stand alone (target headers_stand_alone). LOOPS are
# the files whose time is that of loops, over values or until another rank arrives: compiled for speed, while the others
# are made small. COLD are those of core's that are made small, too: what no operator passes through, and what stands
# before a GPU, whose steps are graphs.
function(ronde_room)
  cmake_parse_arguments(ROOM "" "NAME" "LINKS;PRIVATE_LINKS;OPTIONS;SOURCES;LOOPS;COLD" ${ARGN})
  set(target ronde_${ROOM_NAME})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/include/*.h)
  add_library(${target} ${RONDE_ROOM_TYPE})
  target_sources(${target} PRIVATE ${ROOM_SOURCES}
    PUBLIC FILE_SET HEADERS BASE_DIRS include FILES ${headers})
  target_link_libraries(${target} PUBLIC ${ROOM_LINKS} PRIVATE ${ROOM_PRIVATE_LINKS})
  # Each operator of a step passes through it: small code would cost a tenth of a step of one sample.
  if(ROOM_NAME STREQUAL "core")
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>)
  else()
    target_link_libraries(${target} PRIVATE ronde_small_code)
  endif()
  if(RONDE_BUILD_TESTS)
    ronde_check_headers(${target} ${headers})
  endif()
  ronde_room_target(${target} ${ROOM_NAME} ${ROOM_OPTIONS})
  foreach(kind LOOPS COLD)
    string(TOLOWER ${target}_${kind} part)
    if(RONDE_SANITIZE)
      target_sources(${target} PRIVATE ${ROOM_${kind}})
    elseif(ROOM_${kind})
      add_library(${part} OBJECT ${ROOM_${kind}})
      target_include_directories(${part} PRIVATE include)
      target_link_libraries(${part} PRIVATE ${ROOM_LINKS} ${ROOM_PRIVATE_LINKS})
      if(kind STREQUAL "COLD")
        target_link_libraries(${part} PRIVATE ronde_small_code)
      endif()
      ronde_room_target(${part} ${ROOM_NAME} ${ROOM_OPTIONS})
    endif()
  endforeach()
endfunction()

# Compiles each header as a file of its own. What it needs of the standard library is parsed once, and so is not missed
# here, but in tests/structure.
if(RONDE_BUILD_TESTS)
  add_custom_target(headers_stand_alone)
endif()
function(ronde_check_headers room)
  set(sources)
  foreach(header IN LISTS ARGN)
    file(RELATIVE_PATH name ${CMAKE_CURRENT_SOURCE_DIR}/include ${header})
    set(source ${CMAKE_CURRENT_BINARY_DIR}/headers/${name}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include <${name}>\n")
    list(APPEND sources ${source})
  endforeach()
  set(target ${room}_headers)
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(${target} PRIVATE ${room} ronde_flags)
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF CXX_EXTENSIONS OFF)
  ronde_precompile(${target})
  add_dependencies(headers_stand_alone ${target})
endfunction()

# ronde_link_rooms(target core nn ...): with the rooms' objects, so that `target` can call what is private.
function(ronde_link_rooms target)
  foreach(room IN LISTS ARGN)
    target_link_libraries(${target} PRIVATE ronde_${room})
    foreach(part ronde_${room}_loops ronde_${room}_cold)
      if(TARGET ${part})
        target_link_libraries(${target} PRIVATE ${part})
      endif()
    endforeach()
  endforeach()
endfunction()

# What both kinds of files are compiled with; options follow.
function(ronde_room_target target room)
  target_compile_options(${target} PRIVATE ${ARGN})
  target_include_directories(${target} PRIVATE src)
  target_link_libraries(${target} PRIVATE ronde_product_flags)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET ${RONDE_ROOM_VISIBILITY}
    VISIBILITY_INLINES_HIDDEN ON)
  # Under sanitizers only what loops over values is optimised: the rest would take longer to compile than it saves. Of
  # ThreadSanitizer's tests most are of `distributed`, and without optimising each local variable is watched.
  if((RONDE_SANITIZE AND room MATCHES "^(core|data)$") OR (RONDE_SANITIZE MATCHES "thread" AND room STREQUAL "distributed"))
    target_compile_options(${target} PRIVATE -O1)
  endif()
  # Pointers that lead nowhere end in AddressSanitizer too; looking at each one before is a quarter of the compiler's time,
  # and a third of the kernels' in the tests. `data` and `distributed`, which read bytes from elsewhere, keep it.
  if(RONDE_SANITIZE MATCHES "undefined" AND room MATCHES "^(core|nn|models)$")
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
