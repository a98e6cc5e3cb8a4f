# Checks that the header of cmake/single_header.py compiles alone, and proves a schedule.
execute_process(COMMAND ${PYTHON} -B ${SOURCE}/cmake/single_header.py -o ${WORK}/ashlar_single.hpp COMMAND_ERROR_IS_FATAL ANY)
file(WRITE ${WORK}/single_header.cpp
     "#include \"ashlar_single.hpp\"\n"
     "using namespace ashlar;\n"
     "constexpr auto my_schedule = [] { return catalog::v_half(devices{4}) | repeat(micro_batches{8}) | squeeze(); };\n"
     "static_assert(valid<my_schedule>());\n")
execute_process(COMMAND ${COMPILER} -std=c++20 -Wall -Wextra -Werror -fsyntax-only ${WORK}/single_header.cpp COMMAND_ERROR_IS_FATAL ANY)
