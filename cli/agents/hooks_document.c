/* Hooks in a document: see hooks_document.h. */
#include "cli/agents/hooks_document.h"

#include <errno.h>
#include <string.h>

#include "tracker/process/hook_command.h"

/* Is this the command of a hook of ours? */
static bool is_own(const json_t *hook)
{
	const char *command = json_string_value(json_object_get(hook, "command"));

	if (!command)
		command = json_string_value(json_object_get(hook, "bash"));
	return command && hook_command_is(command);
}

/* How many of the hooks that are to be there are, how many are not, and how many there are of ours
 * in all. */
struct tally {
	size_t there, missing, own;
};

static bool has_equal(const json_t *list, const json_t *wanted)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_equal(json_array_get(list, i), wanted))
			return true;
	return false;
}

/* Hooks of ours in a group, or the group itself where it is a hook (cursor). */
static size_t count_own(const json_t *group)
{
	const json_t *hooks = json_object_get(group, "hooks");
	size_t count = is_own(group);

	for (size_t i = 0; i < json_array_size(hooks); i++)
		count += is_own(json_array_get(hooks, i));
	return count;
}

static struct tally count_tally(const json_t *document, const json_t *wanted)
{
	json_t *hooks = json_object_get(document, "hooks"),
	       *events = json_object_get(wanted, "hooks");
	struct tally tally = { 0, 0, 0 };

	for (void *at = json_object_iter(events); at; at = json_object_iter_next(events, at)) {
		const json_t *groups = json_object_iter_value(at);
		const json_t *list = json_object_get(hooks, json_object_iter_key(at));
		for (size_t i = 0; i < json_array_size(groups); i++) {
			bool there = has_equal(list, json_array_get(groups, i));
			tally.there += there;
			tally.missing += !there;
		}
	}
	for (void *at = json_object_iter(hooks); at; at = json_object_iter_next(hooks, at)) {
		const json_t *list = json_object_iter_value(at);
		for (size_t i = 0; i < json_array_size(list); i++)
			tally.own += count_own(json_array_get(list, i));
	}
	return tally;
}

enum hooks_state hooks_document_state(const json_t *document, const json_t *wanted)
{
	struct tally tally = count_tally(document, wanted);

	if (!tally.own)
		return HOOKS_ABSENT;
	return tally.missing == 0 && tally.own == tally.there ? HOOKS_INSTALLED : HOOKS_OTHER;
}

/* The member "hooks" of a document.  False where there is none. */
static bool find_hooks(const struct json_text *text, size_t *ret_index, struct json_item *ret_item)
{
	return json_edit_member(text, json_edit_root(text), "hooks", ret_index, ret_item);
}

/* ---- hooks in a document ---- */

/* Puts a group into an event's list; the list, or "hooks", is made where there is none. */
static int insert_group(struct json_text *text, const char *event, const json_t *group)
{
	struct json_item hooks, list;
	size_t index;

	if (!find_hooks(text, &index, &hooks)) {
		json_t *fresh = json_pack("{s:[O]}", event, group);
		int error = fresh ? json_edit_insert(text, json_edit_root(text), "hooks", fresh)
				  : -ENOMEM;
		json_decref(fresh);
		return error;
	}
	if (!json_edit_member(text, hooks.value, event, &index, &list)) {
		json_t *fresh = json_pack("[O]", group);
		int error = fresh ? json_edit_insert(text, hooks.value, event, fresh) : -ENOMEM;
		json_decref(fresh);
		return error;
	}
	return json_edit_insert(text, list.value, NULL, group);
}

int hooks_document_insert(struct json_text *text, const json_t *wanted)
{
	json_t *events = json_object_get(wanted, "hooks");

	for (void *at = json_object_iter(events); at; at = json_object_iter_next(events, at)) {
		const json_t *groups = json_object_iter_value(at);
		for (size_t i = 0; i < json_array_size(groups); i++) {
			int error = insert_group(text, json_object_iter_key(at),
						 json_array_get(groups, i));
			if (error < 0)
				return error;
		}
	}
	return 0;
}

/* The first hook of ours in an event's list: its group, and its number in that where others are in
 * it, too. */
static bool find_own(const struct json_text *text, struct json_span list, size_t *ret_group,
		     bool *ret_shared, struct json_span *ret_hooks, size_t *ret_hook)
{
	struct json_item item, hooks, hook;
	size_t index;

	for (size_t i = 0; json_edit_item(text, list, i, &item); i++) {
		size_t own = 0, others = 0, first = 0;
		json_t *group = json_edit_value(text, item.value);
		bool whole = is_own(group);
		json_decref(group);
		*ret_group = i;
		*ret_shared = false;
		if (whole)
			return true;
		if (!json_edit_member(text, item.value, "hooks", &index, &hooks))
			continue;
		for (size_t j = 0; json_edit_item(text, hooks.value, j, &hook); j++) {
			json_t *value = json_edit_value(text, hook.value);
			if (!is_own(value))
				others++;
			else if (own++ == 0)
				first = j;
			json_decref(value);
		}
		*ret_shared = others > 0;
		*ret_hooks = hooks.value;
		*ret_hook = first;
		if (own)
			return true;
	}
	return false;
}

/* Takes one hook of ours out, and what was made for it alone.  Returns 1, or 0 when there is none,
 * or -ENOMEM. */
static int remove_one(struct json_text *text)
{
	struct json_item hooks, event;
	struct json_span own = { 0, 0 };
	size_t hooks_index, group, hook;
	bool shared;

	if (!find_hooks(text, &hooks_index, &hooks))
		return 0;
	for (size_t i = 0; json_edit_item(text, hooks.value, i, &event); i++) {
		if (text->bytes[event.value.start] != '[' ||
		    !find_own(text, event.value, &group, &shared, &own, &hook))
			continue;
		if (shared)
			return json_edit_remove(text, own, hook) < 0 ? -ENOMEM : 1;
		int empty = json_edit_remove(text, event.value, group);
		if (empty > 0)
			empty = json_edit_remove(text, hooks.value, i);
		if (empty > 0)
			empty = json_edit_remove(text, json_edit_root(text), hooks_index);
		return empty < 0 ? empty : 1;
	}
	return 0;
}

int hooks_document_remove(struct json_text *text)
{
	int removed = 1;

	while (removed > 0)
		removed = remove_one(text);
	return removed;
}
