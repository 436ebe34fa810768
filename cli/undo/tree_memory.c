/* Memory that is freed all at once: see tree_memory.h. */
#include "cli/undo/tree_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 20, ALIGNMENT = 8 };

struct block {
	struct block *next;
	_Alignas(ALIGNMENT) unsigned char bytes[];
};

struct tree_memory {
	struct block *blocks;
	unsigned char *at;
	size_t left_bytes;
};

struct tree_memory *tree_memory_new(void)
{
	return calloc(1, sizeof(struct tree_memory));
}

void tree_memory_free(struct tree_memory *memory)
{
	if (!memory)
		return;
	for (struct block *block = memory->blocks, *next; block; block = next) {
		next = block->next;
		free(block);
	}
	free(memory);
}

void *tree_memory_get(struct tree_memory *memory, size_t size_bytes)
{
	size_t size = (size_bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);

	if (size > memory->left_bytes) {
		size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
		struct block *block = calloc(1, sizeof(*block) + room);
		if (!block)
			return NULL;
		block->next = memory->blocks;
		memory->blocks = block;
		memory->at = block->bytes;
		memory->left_bytes = room;
	}
	void *got = memory->at;
	memory->at += size;
	memory->left_bytes -= size;
	return got;
}

char *tree_memory_text(struct tree_memory *memory, const char *bytes, size_t length)
{
	char *text = tree_memory_get(memory, length + 1);

	if (text)
		memcpy(text, bytes, length);
	return text;
}
