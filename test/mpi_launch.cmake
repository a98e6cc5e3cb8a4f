# ashlar_mpi_launch is the command that starts processes; append their number.
set(ashlar_mpi_launch ${MPIEXEC_EXECUTABLE})
execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE version ERROR_QUIET)
if(version MATCHES "Open MPI|OpenRTE")  # as many processes as there are devices, also for root
  list(APPEND ashlar_mpi_launch --oversubscribe --allow-run-as-root)
endif()
list(APPEND ashlar_mpi_launch ${MPIEXEC_NUMPROC_FLAG})
