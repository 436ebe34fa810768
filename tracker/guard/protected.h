/*
 * Files that rules keep from programs, known by what they are and not by a name: device, inode, and the
 * time when they were made, since the kernel gives inodes anew.
 *
 * A rule names paths.  A file has more names than those: links, mounts, descriptors, /proc.  `seen run`
 * finds the files that the globs of rules mean (cli/run/protect.h), and notes them here.  Both mechanisms
 * ask about a file that was opened, or is about to be: by what it is, and by the path that the kernel has
 * for it.  Only rules that deny count, and only reading and writing.
 *
 * Lock-free, allocates nothing, async-signal-safe.
 */
#ifndef SEEN_TRACKER_PROTECTED_H
#define SEEN_TRACKER_PROTECTED_H

#include <sys/stat.h>

#include "tracker/guard/rule.h"
#include "tracker/segment/segment.h"

/* protected_clear(): forgets all files; for `seen run`, while no other run of the session lives. */
void protected_clear(const struct segment *segment);

/* protected_note(): these rules mean a file.  It stays one of theirs, whatever becomes of its names.
 *
 * stat: of a regular file.  creation_ns: as statx(2) says, 0: the file system does not.  rules: bits,
 * indices into settings.rules.  Returns 0; -ENOSPC: there is no room for another. */
int protected_note(const struct segment *segment, const struct stat *stat, uint64_t creation_ns,
		   uint64_t rules);

/* What is asked about a file. */
struct protected_question {
	const struct rule_program *program;
	uint32_t ops; /* as of the call's name (rule.h) */
	int fd;       /* the file, open for anything or by O_PATH */
	/* the path that the kernel has for it may be held against globs: it leads there from here */
	bool has_path;
};

/* protected_judge(): does a rule deny that, of what a descriptor is open for?  To be asked where
 * rule_denies_file(program, ops).
 *
 * ret_path: SEGMENT_PATH_BYTES; the kernel's path of the file, "" where there is none.  ret_answer: set
 * only where the result is true.  Two system calls, three of a file that is on record; errno stays. */
bool protected_judge(const struct segment *segment, const struct protected_question *question,
		     char *ret_path, struct rule_answer *ret_answer);

#endif
