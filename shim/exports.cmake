# Reads the names in hooks.def: lines of the form HOOK(name) or HOOK(name, ...), in C comments or not.
#
#   cmake -D HOOKS=hooks.def -D OUTPUT=exports.map -P exports.cmake
#       writes the linker's version script that exports exactly these names
#   cmake -D HOOKS=hooks.def -D NM=nm -D LIBRARY=libseen.so -P exports.cmake
#       fails unless the library exports exactly these names

cmake_minimum_required(VERSION 3.18)

# Without its comments.  A regular expression of CMake's has no "shortest match": /*, then anything
# but */, then */.
file(READ "${HOOKS}" text)
string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" " " text "${text}")
string(REGEX REPLACE "//[^\n]*" "" text "${text}")

string(REGEX MATCHALL "HOOK[ \t]*\\([ \t\n]*[A-Za-z_][A-Za-z_0-9]*" hooks "${text}")
list(TRANSFORM hooks REPLACE "HOOK[ \t]*\\([ \t\n]*" "")
set(names ${hooks})
list(SORT names)
list(REMOVE_DUPLICATES names)
list(LENGTH hooks hook_count)
list(LENGTH names name_count)
if(NOT hook_count EQUAL name_count)
	foreach(name IN LISTS names)
		list(REMOVE_AT hooks 0)
	endforeach()
	message(FATAL_ERROR "${HOOKS}: ${hook_count} lines, ${name_count} names: a name is there twice")
endif()
if(name_count EQUAL 0)
	message(FATAL_ERROR "${HOOKS}: no HOOK(name) in it")
endif()

if(OUTPUT)
	list(JOIN names ";\n\t" joined)
	file(WRITE "${OUTPUT}" "{\nglobal:\n\t${joined};\nlocal:\n\t*;\n};\n")
	return()
endif()

execute_process(COMMAND "${NM}" -D --defined-only --format=posix "${LIBRARY}"
	OUTPUT_VARIABLE symbols RESULT_VARIABLE failed)
if(failed)
	message(FATAL_ERROR "${NM}: ${failed}")
endif()
string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
list(TRANSFORM symbols REPLACE "[ @].*" "")
set(missing ${names})
list(REMOVE_ITEM missing ${symbols})
set(extra ${symbols})
list(REMOVE_ITEM extra ${names})
foreach(name IN LISTS missing)
	message(SEND_ERROR "HOOK(${name}) has no wrapper")
endforeach()
foreach(name IN LISTS extra)
	message(SEND_ERROR "${name} is exported without a HOOK line")
endforeach()
message(STATUS "${name_count} names in ${HOOKS}")
