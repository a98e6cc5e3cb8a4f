# Runs PROGRAM and compares its output with the file EXPECTED.
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE printed RESULT_VARIABLE result)
file(READ ${EXPECTED} expected)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "returned ${result}; it printed\n${printed}")
endif()
if(NOT printed STREQUAL expected)
  message(FATAL_ERROR "it printed\n${printed}\ninstead of\n${expected}")
endif()
