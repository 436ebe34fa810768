# What is built: its version, by the newest tag vX.Y.Z behind the commit, and its commit.
#
#   include(config/version.cmake)                                  sets seen_version; without git or such a tag it is left as it was
#   cmake -DSOURCE=DIR -DOUTPUT=HEADER -P config/version.cmake     writes SEEN_COMMIT, and SEEN_RELEASE: what the commit is to the release
#                                                                  of that version.  At each build, since commits come between them
#
# In an archive that git made (a forge's download) both are in commit.txt, where git fills them in.

# seen_git(RESULT DIRECTORY WORD...): what git prints; empty where it is no repository, or one that an unpacked archive lies in.
function(seen_git result directory)
	set(printed "")
	execute_process(COMMAND git -C "${directory}" rev-parse --show-toplevel OUTPUT_VARIABLE top ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
	get_filename_component(directory "${directory}" REALPATH)
	if(top STREQUAL directory)
		execute_process(COMMAND git -C "${directory}" ${ARGN} OUTPUT_VARIABLE printed ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
	endif()
	set(${result} "${printed}" PARENT_SCOPE)
endfunction()

# seen_tag(RESULT): the newest tag vX.Y.Z; with the number of commits and the commit, where there are any since.  Else empty.
function(seen_tag result)
	file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/commit.txt" tag REGEX "^v[0-9]")
	if(NOT tag)
		seen_git(tag "${CMAKE_CURRENT_LIST_DIR}/.." describe --tags --match "v[0-9]*")
	endif()
	if(NOT tag MATCHES "^v[0-9]+\\.[0-9]+\\.[0-9]+(-[0-9]+-g[0-9a-f]+)?$")
		set(tag "")
	endif()
	set(${result} "${tag}" PARENT_SCOPE)
endfunction()

seen_tag(tag)
if(OUTPUT)
	file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/commit.txt" commit REGEX "^[0-9a-f]+$")
	seen_git(described "${SOURCE}" describe --always --dirty=-modified --abbrev=12 "--exclude=*")
	if(described)
		set(commit "${described}")
	elseif(NOT commit)
		set(commit "not known")
	endif()
	set(release "")
	if(tag MATCHES "-([0-9]+)-g")
		set(release "${CMAKE_MATCH_1} commits later, ")
		string(REGEX REPLACE "^1 commits" "1 commit" release "${release}")
	elseif(NOT tag AND NOT commit STREQUAL "not known")
		set(release "no tag, ")
	endif()
	file(WRITE "${OUTPUT}.new" "/* Written by config/version.cmake at each build. */\n#define SEEN_COMMIT \"${commit}\"\n#define SEEN_RELEASE \"${release}\"\n")
	execute_process(COMMAND ${CMAKE_COMMAND} -E copy_if_different "${OUTPUT}.new" "${OUTPUT}")
elseif(tag MATCHES "^v([0-9.]+)")
	set(seen_version ${CMAKE_MATCH_1})
endif()
