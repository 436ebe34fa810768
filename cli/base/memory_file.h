/*
 * A file without a name, for what is handed on as a descriptor.
 */
#ifndef SEEN_CLI_MEMORY_FILE_H
#define SEEN_CLI_MEMORY_FILE_H

/* memory_file_open(): an empty file for reading and writing, closed by exec: in memory; where a filter or a kernel before 3.17 has no
 * memfd_create(2), a temporary one on disk.  name: of the former, for /proc.  The caller closes it.
 * Returns a descriptor or a negative errno. */
int memory_file_open(const char *name);

#endif
