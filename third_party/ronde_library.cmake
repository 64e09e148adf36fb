# All rooms together: one library. Programs and users link ronde::ronde.
get_property(rooms GLOBAL PROPERTY RONDE_ROOMS)

# What the rooms link privately, the library links privately, except header-only libraries.
set(private_links)
foreach(room IN LISTS rooms)
  get_target_property(links ${room} LINK_LIBRARIES)
  list(APPEND private_links ${links})
endforeach()
list(REMOVE_DUPLICATES private_links)
list(FILTER private_links EXCLUDE REGEX "^(ronde_.*|Eigen3::Eigen|nlohmann_json::nlohmann_json)$")

add_library(ronde)
# What links it inside a build needs the program that it starts, too.
add_library(ronde_with_reader INTERFACE)
add_library(ronde::ronde ALIAS ronde_with_reader)
target_link_libraries(ronde_with_reader INTERFACE ronde)
add_dependencies(ronde_with_reader ronde_hdf5_reader)
foreach(room IN LISTS rooms)
  target_sources(ronde PRIVATE $<TARGET_OBJECTS:${room}>)
  # As those of an installed library, the headers are a system's: a user's warnings stop there.
  target_include_directories(ronde SYSTEM INTERFACE
    $<BUILD_INTERFACE:$<TARGET_PROPERTY:${room},INTERFACE_INCLUDE_DIRECTORIES>>)
endforeach()
target_link_libraries(ronde PRIVATE ${private_links} $<BUILD_INTERFACE:ronde_product_flags>)
target_include_directories(ronde INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(ronde INTERFACE cxx_std_20)
set_target_properties(ronde PROPERTIES
  LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION}
  # The ABI may change with every minor version while the major one is 0.
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

get_target_property(type ronde TYPE)
# Threads of a pool live until the process ends, so what has the library in it, a plugin perhaps, must not be unmapped before.
if(type STREQUAL SHARED_LIBRARY)
  target_link_options(ronde PRIVATE -Wl,-z,nodelete)
else()
  target_link_options(ronde INTERFACE -Wl,-z,nodelete)
endif()
if(type STREQUAL SHARED_LIBRARY)
  # Hides the weak copies of other people's templates too, which have default visibility wherever they are made. Calls from
  # one room to another are direct.
  set(script ${CMAKE_CURRENT_LIST_DIR}/ronde.map)
  target_link_options(ronde PRIVATE -Wl,--version-script=${script} -Wl,--as-needed -Wl,-Bsymbolic-functions)
  if(NOT RONDE_SANITIZE)  # whose run-time library clang links to programs alone
    target_link_options(ronde PRIVATE -Wl,-z,defs)
  endif()
  set_property(TARGET ronde APPEND PROPERTY LINK_DEPENDS ${script})
  # Addresses to fill in as a bit each and not as 24 bytes: 90 KB of the file. Before 2.36, glibc's loader leaves such a list unread.
  include(CheckCXXSourceCompiles)
  include(CheckLinkerFlag)
  check_cxx_source_compiles("#include <features.h>\nstatic_assert(__GLIBC_PREREQ(2, 36));\nint main() {}" RONDE_LOADER_KNOWS_RELR)
  check_linker_flag(CXX -Wl,-z,pack-relative-relocs RONDE_LINKER_KNOWS_RELR)
  if(RONDE_LOADER_KNOWS_RELR AND RONDE_LINKER_KNOWS_RELR)
    target_link_options(ronde PRIVATE -Wl,-z,pack-relative-relocs)
  endif()
endif()
