# Makes headers of the files of the HTML page, so that users of the headers alone need no file and no build step.
#
# usage: cmake -P cmake/embed_page.cmake                     # writes the headers
#        cmake -D CHECK=ON -P cmake/embed_page.cmake         # fails if one is out of date
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH root)
set(stale "")
file(GLOB files ${CMAKE_CURRENT_LIST_DIR}/page/*)
foreach(file IN LISTS files)
  cmake_path(GET file STEM name)
  cmake_path(GET file EXTENSION LAST_ONLY kind)
  string(SUBSTRING ${kind} 1 -1 kind)
  file(READ ${file} text)
  string(CONCAT header
    "// Made by cmake/embed_page.cmake of cmake/page/${name}.${kind}: change that file.\n#pragma once\n\n"
    "namespace ashlar::render_detail {\n\ninline constexpr char const* html_${name} = R\"${kind}(\n"
    "${text})${kind}\";\n\n}  // namespace ashlar::render_detail\n")
  set(target ${root}/include/ashlar/render/html_${name}.hpp)
  set(old "")
  if(EXISTS ${target})
    file(READ ${target} old)
  endif()
  if(old STREQUAL header)
    continue()
  endif()
  string(APPEND stale " html_${name}.hpp")
  if(NOT CHECK)
    file(WRITE ${target} "${header}")
  endif()
endforeach()
if(CHECK AND stale)
  message(FATAL_ERROR "not what cmake/page has:${stale}; renew with: cmake -P cmake/embed_page.cmake")
endif()
