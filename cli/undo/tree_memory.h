/* Memory that is freed all at once: for the millions of small pieces of a walk. */
#ifndef SEEN_CLI_TREE_MEMORY_H
#define SEEN_CLI_TREE_MEMORY_H

#include <stddef.h>

struct tree_memory;

/* tree_memory_new(): NULL when out of memory; tree_memory_free() it, which accepts NULL. */
struct tree_memory *tree_memory_new(void);
void tree_memory_free(struct tree_memory *memory);

/* tree_memory_get(): zeroed, aligned to 8 bytes; NULL when out of memory. */
void *tree_memory_get(struct tree_memory *memory, size_t size_bytes);

/* tree_memory_text(): a copy of so many bytes, ended by NUL. */
char *tree_memory_text(struct tree_memory *memory, const char *bytes, size_t length);

#endif
