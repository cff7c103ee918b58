# add_layer(NAME HEADERS ... SOURCES ... DEPENDS folder ... PRIVATE target ...)
# One static library kc_NAME per folder; headers are compiled alone by all_verify_interface_header_sets.
function(add_layer name)
  cmake_parse_arguments(arg "" "" "HEADERS;SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(kc_${name} STATIC)
  # *_torch.h headers need torch's include folders, which stay private to the layer: they are not verified alone.
  list(FILTER arg_HEADERS EXCLUDE REGEX "_torch\\.h$")
  target_sources(kc_${name} PRIVATE ${arg_SOURCES}
    PUBLIC FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR} FILES ${arg_HEADERS})
  set_target_properties(kc_${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON POSITION_INDEPENDENT_CODE ON)
  foreach(dep IN LISTS arg_DEPENDS)
    target_link_libraries(kc_${name} PUBLIC kc_${dep})
  endforeach()
  target_link_libraries(kc_${name} PRIVATE kc_warnings ${arg_PRIVATE} PUBLIC kc_sanitizers)
endfunction()

# add_program(NAME source DEPENDS folder ...)
function(add_program name source)
  cmake_parse_arguments(arg "" "" "DEPENDS;PRIVATE" ${ARGN})
  add_executable(${name} ${source})
  foreach(dep IN LISTS arg_DEPENDS)
    target_link_libraries(${name} PRIVATE kc_${dep})
  endforeach()
  target_link_libraries(${name} PRIVATE kc_warnings kc_linker ${arg_PRIVATE})
endfunction()

# add_layer_tests(NAME SOURCES ... DEPENDS folder ... PRIVATE target ... LABELS unit|torch|slow|gpu|serial)
# One executable kc_NAME_tests; every gtest case becomes one ctest entry. Label `serial`: nothing else runs at
# the same time, for tests that time something.
function(add_layer_tests name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;PRIVATE;LABELS" ${ARGN})
  add_executable(kc_${name}_tests ${arg_SOURCES})
  foreach(dep IN LISTS arg_DEPENDS)
    target_link_libraries(kc_${name}_tests PRIVATE kc_${dep})
  endforeach()
  target_link_libraries(kc_${name}_tests PRIVATE kc_warnings kc_linker GTest::gmock GTest::gtest_main ${arg_PRIVATE})
  target_compile_definitions(kc_${name}_tests PRIVATE
    KC_SOURCE_DIR="${CMAKE_SOURCE_DIR}" KC_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  set(serial FALSE)
  if("serial" IN_LIST arg_LABELS)
    set(serial TRUE)
  endif()
  gtest_discover_tests(kc_${name}_tests WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120)
  # Not by its argument PROPERTIES, which takes a list of labels apart.
  set(properties ${CMAKE_CURRENT_BINARY_DIR}/kc_${name}_properties.cmake)
  file(CONFIGURE OUTPUT ${properties} @ONLY CONTENT [=[
foreach(test IN LISTS kc_@name@_tests_TESTS)
  set_tests_properties("${test}" PROPERTIES LABELS "@arg_LABELS@" TIMEOUT 600 RUN_SERIAL @serial@)
endforeach()
]=])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${properties})
endfunction()
