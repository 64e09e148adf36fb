# What `cpack` makes in the build folder: packages of Debian (`cpack -G DEB`), for `apt install ./ronde_*.deb` on each machine
# of a cluster, or archives (`cpack -G TGZ`). ronde: programs and library; libronde-dev: what find_package reads; ronde-cuda.
set(CPACK_PACKAGE_NAME ronde)
set(CPACK_PACKAGE_CONTACT "the authors of Ronde")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)

set(CPACK_COMPONENTS_ALL runtime dev)
if(TARGET ronde_cuda)
  list(APPEND CPACK_COMPONENTS_ALL cuda)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ronde)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
if(RONDE_HAS_MPI)
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS openmpi-bin)  # mpirun
endif()

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libronde-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEV_DEPENDS runtime)

# NVIDIA's libraries come from many places, not all of them packages.
set(CPACK_DEBIAN_CUDA_PACKAGE_NAME ronde-cuda)
set(CPACK_COMPONENT_CUDA_DEPENDS runtime)
include(CPack)
