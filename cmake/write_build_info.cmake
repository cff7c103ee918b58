# Run at every build: writes the header OUTPUT with the commit of SOURCE_DIR, touching it only when that has changed, so
# that a new commit recompiles one file.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --dirty --abbrev=12 --exclude=*
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define KC_COMMIT \"${commit}\"\n")
