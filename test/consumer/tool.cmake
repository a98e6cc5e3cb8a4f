# The installed tool: it runs, its manual page and completions are there, and it knows no path of the machine that built it.
# PREFIX, SOURCE
set(tool ${PREFIX}/bin/ashlar)
if(NOT EXISTS ${tool})
  message("skipped: the tool is not built")
  return()
endif()

function(must_say result)
  execute_process(${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${code}\n${out}")
  endif()
  set(${result} "${out}" PARENT_SCOPE)
endfunction()

must_say(shown COMMAND ${tool} show 1f1b -p 4 -m 8)
if(NOT shown MATCHES "makespan     33 ticks")
  message(FATAL_ERROR "the installed tool shows\n${shown}")
endif()

# Without what debuggers read.
find_program(strip strip)
if(strip)
  must_say(ignored COMMAND ${strip} -o ${PREFIX}/stripped ${tool})
  file(STRINGS ${PREFIX}/stripped baked REGEX "${SOURCE}")
  file(REMOVE ${PREFIX}/stripped)
  if(baked)
    message(FATAL_ERROR "the tool has paths of the machine that built it: ${baked}")
  endif()
endif()

# Every option of every subcommand.
file(READ ${PREFIX}/share/man/man1/ashlar.1 manual)
file(READ ${PREFIX}/share/bash-completion/completions/ashlar bash)
file(READ ${PREFIX}/share/zsh/site-functions/_ashlar zsh)
foreach(command IN ITEMS show emit compare search frontier tradeoff check simulate train)
  must_say(help COMMAND ${tool} ${command} --help)
  string(REGEX MATCHALL "\n  [^ ]*(--[a-z-]+)" options "${help}")
  foreach(option IN LISTS options)
    string(REGEX REPLACE ".*(--[a-z-]+)$" "\\1" option "${option}")
    string(REPLACE "-" "\\-" escaped "${option}")
    foreach(text IN ITEMS bash zsh)
      string(FIND "${${text}}" "${option}" at)
      if(at EQUAL -1)
        message(FATAL_ERROR "${text} does not complete ${option} of ${command}")
      endif()
    endforeach()
    string(FIND "${manual}" "${escaped}" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "the manual page lacks ${option} of ${command}")
    endif()
  endforeach()
endforeach()

find_program(bash_program bash)
if(bash_program)
  set(script [[
source "$1"
complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ashlar; echo "${COMPREPLY[*]}"; }
complete_words ashlar sim
complete_words ashlar emit 1f1b --as py
complete_words ashlar show v-h
complete_words ashlar simulate 1f1b --optimizer-t
]])
  must_say(completed COMMAND ${bash_program} -c "${script}" bash ${PREFIX}/share/bash-completion/completions/ashlar)
  if(NOT completed STREQUAL "simulate\npytorch pytorch-comms\nv-half\n--optimizer-ticks\n")
    message(FATAL_ERROR "bash completes\n${completed}")
  endif()
endif()
