# A package must run on other machines than the one that makes it.
if(CPACK_ASHLAR_NATIVE)
  message(FATAL_ERROR "the tool is tuned for this machine's processor: configure with -DASHLAR_NATIVE=OFF and build again")
endif()
