/* Conversations: see conversations.h. */
#include "cli/agents/conversations.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/agents/conversation.h"
#include "cli/agents/hooks.h"
#include "cli/agents/proofs.h"
#include "tracker/process/scope.h"
#include "tracker/segment/slot.h"
#include "tracker/sys/sys.h"

enum { NEVER_MS = 1000, PROVEN_MAX = 4096 };

static const uint64_t MILLISECOND_NS = 1000000;

struct findings {
	struct conversations *all;
	struct findings *next;
	struct conversation *conversation;
	uint64_t profiles;
	uint64_t active;   /* when it was last reported, in turn; 0: not in this run */
	uint64_t scope_id; /* 0: not known */
	char *directory;   /* its agent's; NULL: not said */
	bool many;         /* its agent may hold several conversations at once */
};

/* A command that a result proves. */
struct proven {
	uint64_t command, call, text;
	enum proof proof; /* as it was last said */
};

/* A scope. */
struct follow {
	struct follow *next;
	uint64_t id;
	uint32_t anchor_pid, profile;
	char name[sizeof(((struct scope_slot *)0)->name)];
	char directory[PATH_MAX];        /* its agent's; empty: not known */
	const struct hooks_agent *hooks; /* for its agent; NULL: there are none */
	bool is_hooked;                  /* they are there */
	bool is_interactive;
	/* of what the agent's own process reads: nothing cuts it, no result holds it */
	bool is_own;
	bool was_reported;
	struct findings *current;
	struct proven *proven;
	size_t proven_count, proven_capacity;
};

struct conversations {
	const struct segment *segment;
	struct findings *findings;
	struct follow *follows;
	struct proofs *proofs; /* of this turn; NULL: not looked for */
	uint64_t proofs_profiles;
	uint64_t clock;
};

struct conversations *conversations_new(const struct segment *segment)
{
	struct conversations *conversations = calloc(1, sizeof(*conversations));
	if (conversations)
		*conversations = (struct conversations){ .segment = segment };
	return conversations;
}

static void forget_proofs(struct conversations *conversations)
{
	proofs_free(conversations->proofs);
	conversations->proofs = NULL;
	conversations->proofs_profiles = 0;
}

void conversations_free(struct conversations *conversations)
{
	if (!conversations)
		return;
	for (struct findings *findings = conversations->findings, *next; findings;
	     findings = next) {
		next = findings->next;
		conversation_free(findings->conversation);
		free(findings->directory);
		free(findings);
	}
	for (struct follow *follow = conversations->follows, *next; follow; follow = next) {
		next = follow->next;
		free(follow->proven);
		free(follow);
	}
	forget_proofs(conversations);
	free(conversations);
}

struct findings *conversations_findings(struct conversations *conversations, uint64_t profiles)
{
	struct findings *findings = conversations ? calloc(1, sizeof(*findings)) : NULL;

	if (!findings)
		return NULL;
	*findings = (struct findings){ .all = conversations,
				       .next = conversations->findings,
				       .conversation = conversation_new(),
				       .profiles = profiles };
	if (!findings->conversation) {
		free(findings);
		return NULL;
	}
	conversations->findings = findings;
	return findings;
}

void conversations_again(struct findings *findings)
{
	struct conversation *conversation = findings ? conversation_new() : NULL;

	if (!conversation)
		return;
	conversation_free(findings->conversation);
	findings->conversation = conversation;
}

/* ---- whose it is ---- */

/* Is one directory the other, or below it? */
static bool is_within(const char *directory, const char *above)
{
	size_t length = strlen(above);

	while (length > 1 && above[length - 1] == '/')
		length--;
	return strncmp(directory, above, length) == 0 &&
	       (!directory[length] || directory[length] == '/' || length == 1);
}

static bool may_be_of(const struct findings *findings, const struct follow *follow)
{
	if (!follow->profile || follow->profile > SETTINGS_PROFILES_MAX ||
	    !(findings->profiles >> (follow->profile - 1) & 1))
		return false;
	/* A process's in-process reads are a scope beside the one of its commands. */
	if (findings->scope_id && !follow->is_own)
		return findings->scope_id == follow->id;
	return !findings->directory || !follow->directory[0] ||
	       is_within(findings->directory, follow->directory) ||
	       is_within(follow->directory, findings->directory);
}

static void note_directory(struct findings *findings, const char *directory)
{
	if (findings->directory || !directory)
		return;
	findings->directory = realpath(directory, NULL);
	if (!findings->directory)
		findings->directory = strdup(directory);
}

/* ---- what is proven ---- */

static struct follow *find_follow(const struct conversations *conversations, uint64_t scope_id)
{
	struct follow *follow = conversations->follows;
	while (follow && follow->id != scope_id)
		follow = follow->next;
	return follow;
}

static void add_proven(struct follow *follow, uint64_t command, const struct entry_result *result)
{
	/* The oldest half has left the window long ago. */
	if (follow->proven_count == PROVEN_MAX) {
		follow->proven_count = PROVEN_MAX / 2;
		memmove(follow->proven, follow->proven + PROVEN_MAX / 2,
			PROVEN_MAX / 2 * sizeof(*follow->proven));
	}
	if (follow->proven_count == follow->proven_capacity) {
		size_t larger = follow->proven_capacity ? 2 * follow->proven_capacity : 32;
		struct proven *grown = realloc(follow->proven, larger * sizeof(*grown));
		if (!grown)
			return;
		follow->proven = grown;
		follow->proven_capacity = larger;
	}
	follow->proven[follow->proven_count++] = (struct proven){
		.command = command,
		.call = result->call,
		.text = entry_hash(result->text, result->length),
		.proof = PROOF_NONE,
	};
}

/* Which command's is a result? */
static void add_result(struct findings *findings, const struct entry_result *result)
{
	struct conversations *all = findings->all;
	uint64_t command, scope_id;

	if (!all->proofs && all->proofs_profiles != findings->profiles) {
		all->proofs = proofs_collect(all->segment, findings->profiles);
		all->proofs_profiles = findings->profiles;
	}
	for (struct follow *follow = all->follows; all->proofs && follow; follow = follow->next) {
		if (follow->is_own || !may_be_of(findings, follow) ||
		    !proofs_find(all->proofs, result, follow->id, &command, &scope_id))
			continue;
		findings->scope_id = follow->id;
		add_proven(follow, command, result);
		return;
	}
	for (struct follow *follow = all->follows; all->proofs && follow; follow = follow->next)
		if (!follow->is_own && may_be_of(findings, follow))
			proofs_contradict(all->proofs, result, follow->id, false);
}

/* The conversation goes on elsewhere: of what was not proven where it was, it is not known where it
 * belongs. */
static void leave(const struct conversations *conversations, const struct follow *follow)
{
	if (follow->is_own)
		(void)scope_new_epoch(conversations->segment, follow->id);
	else
		proofs_drop(conversations->segment, follow->id);
}

void conversations_add(struct findings *findings, const struct entry *entry, bool is_old)
{
	struct conversations *all = findings->all;

	note_directory(findings, entry->directory);
	findings->many = findings->many || (entry->is_list && entry->says_end);
	bool moved = conversation_add(findings->conversation, entry, sys_boottime_ns());
	if (is_old)
		return;
	/* The end of a turn may be reported when another conversation has begun. */
	bool is_end = entry->state == ENTRY_ENDED;
	if (is_end ? !findings->active
		   : entry->is_step || entry->begins || entry->state != ENTRY_SAME)
		findings->active = ++all->clock;
	bool is_side = conversation_is_side(findings->conversation);
	for (struct follow *follow = all->follows; !is_side && follow; follow = follow->next)
		if ((moved || (entry->is_prompt && follow->is_interactive && !follow->is_own)) &&
		    follow->current == findings && may_be_of(findings, follow))
			leave(all, follow);
	for (unsigned i = 0; i < entry->result_count; i++)
		add_result(findings, &entry->results[i]);
}

/* ---- scopes ---- */

static const char *profile_name(const struct conversations *conversations, uint32_t profile)
{
	const struct settings *settings = conversations->segment->settings;
	return profile && profile <= settings->profile_count
		       ? segment_text(conversations->segment, settings->profiles[profile - 1].name,
				      NULL)
		       : NULL;
}

static bool has_hooks(const struct hooks_agent *hooks)
{
	struct hooks_place place;

	for (int project = 0; hooks && project < 2; project++) {
		hooks_inspect(hooks, project ? "" : NULL, &place);
		if (place.state == HOOKS_INSTALLED && !place.is_off)
			return true;
	}
	return false;
}

static void add_follow(struct conversations *conversations, const struct scope_slot *scope)
{
	static const char OWN[] = "(in-process reads)";
	struct follow *follow = calloc(1, sizeof(*follow));
	const char *name = profile_name(conversations, scope->profile);
	char link[64];

	if (!follow)
		return;
	follow->id = scope->id;
	follow->anchor_pid = scope->anchor_pid;
	follow->profile = scope->profile;
	(void)snprintf(follow->name, sizeof(follow->name), "%s", name ? name : scope->name);
	size_t length = strnlen(scope->name, sizeof(scope->name));
	follow->is_own = length >= sizeof(OWN) - 1 &&
			 memcmp(scope->name + length - (sizeof(OWN) - 1), OWN, sizeof(OWN) - 1) ==
				 0;
	follow->is_interactive = scope->flags & SCOPE_INTERACTIVE;
	follow->hooks = name ? hooks_find(name) : NULL;
	follow->is_hooked = follow->is_interactive && has_hooks(follow->hooks);
	(void)snprintf(link, sizeof(link), "/proc/%u/cwd", scope->anchor_pid);
	ssize_t bytes = readlink(link, follow->directory, sizeof(follow->directory) - 1);
	follow->directory[bytes > 0 ? bytes : 0] = '\0';
	follow->next = conversations->follows;
	conversations->follows = follow;
}

static void find_scopes(struct conversations *conversations)
{
	const struct segment *segment = conversations->segment;
	struct scope_slot copy;

	SEGMENT_EACH_USED (segment, TABLE_SCOPES, i) {
		const struct scope_slot *slot = segment_slot(segment, TABLE_SCOPES, i);
		uint64_t id = __atomic_load_n(&slot->id, __ATOMIC_RELAXED);
		if (id && !find_follow(conversations, id) &&
		    slot_read(slot, &copy, SCOPE_CHECKED_BYTES) && copy.id == id)
			add_follow(conversations, &copy);
	}
}

/* ---- what is known by now ---- */

/* Does a sub-agent live there?  Where a form does not tell when one has done, the conversation that
 * it belongs to goes on then. */
static bool lives_beside(const struct findings *findings, const struct findings *current)
{
	if (!findings->active || !conversation_is_live(findings->conversation))
		return false;
	if (!conversation_is_side(findings->conversation))
		return findings->many;
	return conversation_reports_ending(findings->conversation) ||
	       findings->active > current->active;
}

/* The conversation that was last reported.  ret_alone: no other one lives in that process. */
static struct findings *current_of(const struct conversations *conversations,
				   const struct follow *follow, bool *ret_alone)
{
	struct findings *current = NULL;

	for (struct findings *findings = conversations->findings; findings;
	     findings = findings->next)
		if (findings->active && !conversation_is_side(findings->conversation) &&
		    may_be_of(findings, follow) && (!current || findings->active > current->active))
			current = findings;
	*ret_alone = true;
	for (struct findings *findings = conversations->findings; current && findings;
	     findings = findings->next)
		if (findings != current && may_be_of(findings, follow) &&
		    lives_beside(findings, current))
			*ret_alone = false;
	return current;
}

static void prove(const struct conversations *conversations, struct follow *follow)
{
	size_t kept = 0;

	for (size_t i = 0; i < follow->proven_count; i++) {
		struct proven proven = follow->proven[i];
		enum proof proof = follow->current &&
						   conversation_has(follow->current->conversation,
								    proven.call, proven.text)
					   ? PROOF_WHOLE
					   : PROOF_OFF_BRANCH;
		if (proof == proven.proof ||
		    proof_command(conversations->segment, proven.command, proof) == 0) {
			proven.proof = proof;
			follow->proven[kept++] = proven;
		}
	}
	follow->proven_count = kept;
}

static void set_flags(const struct conversations *conversations, const struct follow *follow,
		      uint32_t mine)
{
	uint32_t flags = proof_scope_flags(conversations->segment, follow->id);
	flags &= ~(uint32_t)(SCOPE_PROVES | SCOPE_MUTE);
	(void)proof_scope(conversations->segment, follow->id, flags | mine);
}

/* One scope.  Returns when it is to be inspected again; 0: when something is reported. */
static uint64_t complete(struct conversations *conversations, struct follow *follow,
			 uint64_t now_ns)
{
	uint64_t due_ns = 0;
	bool is_alone;
	struct findings *current = current_of(conversations, follow, &is_alone);

	if (current != follow->current) {
		if (follow->current) {
			set_flags(conversations, follow, SCOPE_PROVES | SCOPE_MUTE);
			leave(conversations, follow);
			/* It goes on where it was found to be another scope's. */
			if (!follow->current->many &&
			    (!follow->current->scope_id || follow->current->scope_id == follow->id))
				conversation_close(follow->current->conversation);
		}
		follow->current = current;
	}
	if (!current || !conversation_is_reported(current->conversation)) {
		bool is_silent = follow->is_interactive && !follow->is_hooked;
		set_flags(conversations, follow, current || is_silent ? (uint32_t)SCOPE_MUTE : 0);
		return 0;
	}
	follow->was_reported = true;
	prove(conversations, follow);
	bool certain = conversation_is_certain(current->conversation, now_ns, &due_ns) && is_alone;
	set_flags(conversations, follow, SCOPE_PROVES | (certain ? 0 : (uint32_t)SCOPE_MUTE));
	return certain || !is_alone ? 0 : due_ns;
}

unsigned conversations_tick(struct conversations *conversations)
{
	uint64_t now_ns = sys_boottime_ns(), next_ns = UINT64_MAX;

	if (!conversations)
		return NEVER_MS;
	forget_proofs(conversations);
	find_scopes(conversations);
	for (struct follow *follow = conversations->follows; follow; follow = follow->next) {
		uint64_t due_ns = complete(conversations, follow, now_ns);
		if (due_ns && due_ns < next_ns)
			next_ns = due_ns;
	}
	if (next_ns == UINT64_MAX)
		return NEVER_MS;
	return next_ns <= now_ns ? 1 : (unsigned)((next_ns - now_ns) / MILLISECOND_NS + 1);
}

/* ---- the end of a run ---- */

/* Was it given any file?  What an agent runs at its start, before anybody spoke to it, gives
 * none. */
static bool was_given(const struct conversations *conversations, const struct follow *follow)
{
	const struct segment *segment = conversations->segment;

	SEGMENT_EACH_USED (segment, TABLE_DELIVERIES, i) {
		const struct delivery_slot *slot = segment_slot(segment, TABLE_DELIVERIES, i);
		if (__atomic_load_n(&slot->scope_id, __ATOMIC_RELAXED) == follow->id)
			return true;
	}
	return false;
}

const char *conversations_text(const struct conversations *conversations, char *ret_text)
{
	ret_text[0] = '\0';
	for (const struct follow *follow = conversations ? conversations->follows : NULL; follow;
	     follow = follow->next) {
		if (!follow->is_interactive || follow->is_hooked || follow->is_own ||
		    follow->was_reported || !was_given(conversations, follow))
			continue;
		(void)snprintf(ret_text, CONVERSATIONS_TEXT_BYTES,
			       "%s was given everything in full: neither a transcript nor hooks "
			       "reported which conversation it was in%s%s",
			       follow->name, follow->hooks ? "; run " : "",
			       follow->hooks ? follow->hooks->remedy : "");
		return ret_text;
	}
	return ret_text;
}
