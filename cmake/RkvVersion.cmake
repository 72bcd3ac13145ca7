# Run as a script at every build (cmake -P), so that an incremental build has the right version too.
# Writes OUTPUT from TEMPLATE; touches it only when the version changed.
execute_process(
  COMMAND git describe --tags --always --dirty
  WORKING_DIRECTORY ${SOURCE_DIR}
  OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE
  ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(RKV_VERSION ${FALLBACK})
else()
  set(RKV_VERSION "${FALLBACK}-${described}")
endif()
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
