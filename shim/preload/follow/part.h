/* Readers that print lines of one file: which of them went to the capture. */
#ifndef SEEN_FOLLOW_PART_H
#define SEEN_FOLLOW_PART_H

struct content;
struct shape;
struct stat;

/* part_start(): this program begins; what lines it prints, its arguments tell.  part_shown(): it opened a file of the workspace, its
 * output is the capture.  path: as given; may be NULL.  kernel_path: as the kernel knows it.  part_end(): it ended by exit(0). */
void part_start(const char *executable, char *const argv[]);
void part_shown(int fd, const char *path, const char *kernel_path, const struct stat *stat,
		const struct content *content);
/* part_shape(): what it printed, where those lines are all of it; else NULL.  At its end, before part_end(). */
const struct shape *part_shape(void);
void part_end(void);

#endif
