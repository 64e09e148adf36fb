# What `cmake --install` lays down: the library, its headers, programs, and what find_package(ronde) reads.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ronde)
if(TARGET ronde_cuda)
  install(TARGETS ronde_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cuda)
endif()
get_target_property(library_type ronde TYPE)

install(TARGETS ronde EXPORT rondeTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
foreach(room core nn data distributed models)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${room}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
    FILES_MATCHING PATTERN "*.h")
endforeach()
install(EXPORT rondeTargets NAMESPACE ronde:: DESTINATION ${package_dir} COMPONENT dev)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/rondeConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/rondeConfig.cmake INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/rondeConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/rondeConfig.cmake ${PROJECT_BINARY_DIR}/package/rondeConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT dev)

# From any prefix, moved or not. What a static library has to be linked with, only find_package knows.
if(library_type STREQUAL "SHARED_LIBRARY")
  file(RELATIVE_PATH headers_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_FULL_INCLUDEDIR})
  configure_file(${CMAKE_CURRENT_LIST_DIR}/ronde.pc.in ${PROJECT_BINARY_DIR}/package/ronde.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/ronde.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
