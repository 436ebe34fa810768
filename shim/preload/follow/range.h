/* Readers that print lines of one file: which of them went to the capture. */
#ifndef SEEN_FOLLOW_PART_H
#define SEEN_FOLLOW_PART_H

struct content;
struct shape;
struct stat;

/* range_start(): this program begins; what lines it prints, its arguments tell.  range_shown(): it
 * opened a file of the workspace, its output is the capture.  path: as given; may be NULL.
 * kernel_path: as the kernel knows it.  range_finish(): it ended by exit(0). */
void range_start(const char *executable, char *const argv[]);
void range_shown(int fd, const char *path, const char *kernel_path, const struct stat *stat,
		 const struct content *content);
/* range_shape(): what it printed, where those lines are all of it; else NULL.  At its end, before
 * range_finish(). */
const struct shape *range_shape(void);
void range_finish(void);

#endif
