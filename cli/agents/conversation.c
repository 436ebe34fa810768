/* Conversations: see conversation.h. */
#include "cli/agents/conversation.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX };

static const uint64_t SETTLES_NS = (uint64_t)CONVERSATION_SETTLES_MS * 1000000;

struct node {
	uint64_t id;
	uint32_t parent; /* NONE: a beginning */
	uint32_t path;   /* the branch on which it was last */
};

struct result {
	uint64_t call, text;
	size_t length;
	uint32_t node; /* that has it */
};

/* Items by number: open addressing, a power of two, at most half full. */
struct map {
	struct slot {
		uint64_t key; /* 0: free */
		uint32_t value;
	} * slots;
	size_t capacity, count;
};

struct conversation {
	struct node *nodes;
	size_t node_count, node_capacity;
	struct result *results;
	size_t result_count, result_capacity;
	struct map ids, calls;
	uint32_t leaf; /* NONE: there is no entry */
	uint32_t path; /* number of the branch that ends there */
	bool findings, side, says_end;
	bool called; /* the model answered by calls, or may have */
	bool asked;
	uint64_t asked_ns;
	struct entry_call calls_open[ENTRY_CALLS_MAX];
	unsigned open_count;
};

/* ---- maps ---- */

static struct slot *map_slot(const struct map *map, uint64_t key)
{
	size_t at = key & (map->capacity - 1);

	while (map->slots[at].key && map->slots[at].key != key)
		at = (at + 1) & (map->capacity - 1);
	return &map->slots[at];
}

static bool map_store(struct map *map, uint64_t key, uint32_t value)
{
	if (2 * (map->count + 1) > map->capacity) {
		struct map larger = { .capacity = map->capacity ? 2 * map->capacity : 64,
				      .count = map->count };
		larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
		if (!larger.slots)
			return false;
		for (size_t i = 0; i < map->capacity; i++)
			if (map->slots[i].key)
				*map_slot(&larger, map->slots[i].key) = map->slots[i];
		free(map->slots);
		*map = larger;
	}
	struct slot *slot = map_slot(map, key);
	map->count += !slot->key;
	*slot = (struct slot){ .key = key, .value = value };
	return true;
}

static uint32_t map_get(const struct map *map, uint64_t key)
{
	const struct slot *slot = key && map->capacity ? map_slot(map, key) : NULL;
	return slot && slot->key ? slot->value : NONE;
}

/* Room for one more of an array's items. */
static bool grow(void **items, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return true;
	size_t larger = *capacity ? 2 * *capacity : 64;
	void *grown = larger < NONE ? realloc(*items, larger * size) : NULL;
	if (!grown)
		return false;
	*items = grown;
	*capacity = larger;
	return true;
}

/* ---- the tree ---- */

struct conversation *conversation_new(void)
{
	struct conversation *conversation = calloc(1, sizeof(*conversation));
	if (conversation)
		conversation->leaf = NONE;
	return conversation;
}

void conversation_free(struct conversation *conversation)
{
	if (!conversation)
		return;
	free(conversation->nodes);
	free(conversation->results);
	free(conversation->ids.slots);
	free(conversation->calls.slots);
	free(conversation);
}

/* The conversation stands at a node that does not follow the one before: a branch of its own. */
static void move_to(struct conversation *conversation, uint32_t leaf)
{
	conversation->leaf = leaf;
	conversation->path++;
	for (uint32_t at = leaf; at != NONE; at = conversation->nodes[at].parent)
		conversation->nodes[at].path = conversation->path;
}

/* Adds an entry's node and goes there. */
static void add_node(struct conversation *conversation, const struct entry *entry)
{
	uint32_t parent = entry->begins    ? NONE
			  : entry->is_list ? conversation->leaf
					   : map_get(&conversation->ids, entry->parent);
	uint32_t node = (uint32_t)conversation->node_count;

	if (!grow((void **)&conversation->nodes, conversation->node_count,
		  &conversation->node_capacity, sizeof(*conversation->nodes)) ||
	    (entry->id && !map_store(&conversation->ids, entry->id, node))) {
		move_to(conversation, NONE);
		return;
	}
	conversation->node_count++;
	conversation->nodes[node] = (struct node){ .id = entry->id,
						   .parent = parent,
						   .path = conversation->path };
	if (parent == conversation->leaf && (parent != NONE || !node))
		conversation->leaf = node;
	else
		move_to(conversation, node);
}

static void add_results(struct conversation *conversation, const struct entry *entry)
{
	uint32_t holder = map_get(&conversation->ids, entry->holder);

	for (unsigned i = 0; i < entry->result_count; i++) {
		const struct entry_result *result = &entry->results[i];
		if (!result->call ||
		    !grow((void **)&conversation->results, conversation->result_count,
			  &conversation->result_capacity, sizeof(*conversation->results)) ||
		    !map_store(&conversation->calls, result->call,
			       (uint32_t)conversation->result_count))
			continue;
		conversation->results[conversation->result_count++] = (struct result){
			.call = result->call,
			.text = entry_hash(result->text, result->length),
			.length = result->length,
			.node = holder != NONE ? holder : conversation->leaf,
		};
	}
}

/* The list goes back to before an entry; one that is not known: to nothing. */
static void go_back(struct conversation *conversation, uint64_t id)
{
	uint32_t node = map_get(&conversation->ids, id);
	move_to(conversation, node == NONE ? NONE : conversation->nodes[node].parent);
}

/* ---- whose turn it is ---- */

static void close_call(struct conversation *conversation, uint64_t call)
{
	for (unsigned i = 0; i < conversation->open_count; i++)
		if (conversation->calls_open[i].id == call) {
			conversation->calls_open[i] =
				conversation->calls_open[--conversation->open_count];
			return;
		}
}

/* It may be reported again, when more is known of it. */
static void open_call(struct conversation *conversation, struct entry_call call)
{
	close_call(conversation, call.id);
	if (conversation->open_count < ENTRY_CALLS_MAX)
		conversation->calls_open[conversation->open_count++] = call;
	else
		conversation->calls_open[0].is_plain = false;
}

static void read_state(struct conversation *conversation, const struct entry *entry,
		       uint64_t now_ns)
{
	for (unsigned i = 0; i < entry->result_count; i++)
		close_call(conversation, entry->results[i].call);
	if (entry->is_prompt || entry->state == ENTRY_ENDED)
		conversation->open_count = 0;
	for (unsigned i = 0; i < entry->call_count; i++)
		open_call(conversation, entry->calls[i]);
	switch (entry->state) {
	case ENTRY_SAME:
		break;
	case ENTRY_ASKED:
		conversation->asked = true;
		conversation->asked_ns = now_ns;
		conversation->called = conversation->open_count;
		break;
	case ENTRY_ANSWERED:
		conversation->asked = conversation->called = true;
		break;
	case ENTRY_ENDED:
		conversation->asked = conversation->called = false;
		break;
	}
}

bool conversation_add(struct conversation *conversation, const struct entry *entry, uint64_t now_ns)
{
	uint32_t path = conversation->path;
	bool moves = entry->begins || entry->back_to;

	conversation->findings = conversation->findings || entry->is_step;
	conversation->side = conversation->side || entry->is_side;
	conversation->says_end = conversation->says_end || entry->says_end;
	if (entry->back_to)
		go_back(conversation, entry->back_to);
	/* A list's entry may be written again, when more is known of it. */
	if (entry->is_step && !(entry->is_list && map_get(&conversation->ids, entry->id) != NONE)) {
		add_node(conversation, entry);
		moves = moves || entry->is_prompt;
	}
	add_results(conversation, entry);
	read_state(conversation, entry, now_ns);
	return moves && path != conversation->path;
}

/* ---- what is asked of it ---- */

bool conversation_has(const struct conversation *conversation, uint64_t call, uint64_t text)
{
	uint32_t at = map_get(&conversation->calls, call);

	if (at == NONE || conversation->results[at].text != text)
		return false;
	uint32_t node = conversation->results[at].node;
	return node != NONE && conversation->nodes[node].path == conversation->path;
}

size_t conversation_length(const struct conversation *conversation, uint64_t call)
{
	uint32_t at = map_get(&conversation->calls, call);
	uint32_t node = at == NONE ? NONE : conversation->results[at].node;

	return node != NONE && conversation->nodes[node].path == conversation->path
		       ? conversation->results[at].length
		       : 0;
}

bool conversation_is_reported(const struct conversation *conversation)
{
	return conversation->findings;
}

bool conversation_is_side(const struct conversation *conversation)
{
	return conversation->side;
}

bool conversation_is_live(const struct conversation *conversation)
{
	return conversation->asked;
}

bool conversation_reports_ending(const struct conversation *conversation)
{
	return conversation->says_end;
}

bool conversation_is_certain(const struct conversation *conversation, uint64_t now_ns,
			     uint64_t *ret_due_ns)
{
	*ret_due_ns = 0;
	if (!conversation->asked)
		return false;
	for (unsigned i = 0; i < conversation->open_count; i++)
		if (!conversation->calls_open[i].is_plain)
			return false;
	if (conversation->called)
		return true;
	*ret_due_ns = conversation->asked_ns + SETTLES_NS;
	return now_ns >= *ret_due_ns;
}

void conversation_close(struct conversation *conversation)
{
	conversation->asked = conversation->called = false;
	conversation->open_count = 0;
}
