/* Rules: see rule.h. */
#include "tracker/guard/rule.h"

#include <fcntl.h>
#include <linux/fs.h> /* RENAME_EXCHANGE */
#include <string.h>

#include "tracker/path/glob.h"
#include "tracker/path/line.h"
#include "tracker/path/path.h"
#include "tracker/segment/segment.h"
#include "tracker/segment/workspace.h"

uint32_t rule_ops_of_open(int flags)
{
	bool is_nameless = (flags & O_TMPFILE) == O_TMPFILE;
	int access = flags & O_ACCMODE;
	uint32_t ops = (flags & O_CREAT) || is_nameless ? RULE_CREATE : 0;

	if (flags & O_PATH)
		return 0;
	if (access != O_RDONLY || (flags & O_TRUNC))
		ops |= RULE_WRITE;
	if ((flags & O_CREAT) && (flags & O_EXCL))
		ops |= RULE_ONLY_NEW;
	if (access != O_WRONLY)
		ops |= (flags & O_DIRECTORY) && !is_nameless ? RULE_LIST : RULE_READ;
	return ops;
}

void rule_ops_of_rename(unsigned flags, uint32_t *ret_old, uint32_t *ret_new)
{
	bool exchanges = flags & RENAME_EXCHANGE;

	*ret_old = RULE_RENAME | (exchanges ? RULE_WRITE : RULE_DELETE);
	*ret_new = RULE_RENAME | RULE_WRITE | (exchanges ? 0 : RULE_CREATE) |
		   (flags & RENAME_NOREPLACE ? RULE_ONLY_NEW : 0);
}

/* Where a path lies. */
struct place {
	const struct segment *segment;
	const char *path;
	/* what follows the workspace's root, and the path itself outside of it */
	const char *below;
	bool is_inside;
	bool fold;
};

static struct place place_of(const struct segment *segment, const char *path)
{
	struct place place = {
		.segment = segment,
		.path = path,
		.below = path_relative(segment, path),
		.is_inside = path_in_workspace(segment, path),
		.fold = segment->settings->paths_case_insensitive == PATHS_CASE_INSENSITIVE_YES,
	};
	/* of the root itself, path_relative() gives all of it */
	if (place.is_inside && place.below == path && path && path[1])
		place.below = "";
	return place;
}

static bool glob_holds(const char *pattern, const struct place *place)
{
	if (pattern[0] == '/' && place->is_inside) {
		/* It may name the workspace by another name of its root. */
		const char *rest = path_behind_alias(place->segment, pattern);
		if (rest && (!rest[0] || path_covers(rest + 1, place->below, place->fold)))
			return true;
	}
	if (pattern[0] == '/')
		return path_covers(pattern, place->path, place->fold);
	if (pattern[0] == '.' && (pattern[1] == '/' || !pattern[1])) {
		const char *rest = pattern + 1 + (pattern[1] == '/');
		return place->is_inside && (!*rest || path_covers(rest, place->below, place->fold));
	}
	return path_matches_glob(pattern, place->below, place->fold);
}

static bool list_holds(const struct segment *segment, struct settings_text list,
		       const struct place *place)
{
	const char *pattern = NULL;

	while ((pattern = segment_text(segment, list, pattern)))
		if (glob_holds(pattern, place))
			return true;
	return false;
}

static bool names_program(const struct segment *segment, struct settings_text list,
			  const struct place *executable, const char *name)
{
	const char *pattern = NULL;

	while ((pattern = segment_text(segment, list, pattern))) {
		if (strchr(pattern, '/')
			    ? executable->path[0] && glob_holds(pattern, executable)
			    : path_glob(pattern, path_base(executable->path), executable->fold) ||
				      (name[0] && path_glob(pattern, name, executable->fold)))
			return true;
	}
	return false;
}

/* The rule at an index, NULL where there is none that means anything. */
static const struct settings_rule *rule_at(const struct segment *segment, uint64_t index)
{
	const struct settings *settings = segment->settings;

	if (index >= SETTINGS_RULES_MAX || index >= settings->rule_count)
		return NULL;
	const struct settings_rule *rule = &settings->rules[index];
	return rule->action > RULE_ACTION_OFF && rule->action <= RULE_ACTION_DENY ? rule : NULL;
}

/* False: it may hold for any path. */
static bool sketch_rule(const struct segment *segment, const struct settings_rule *rule,
			struct rule_sketch *sketch)
{
	const char *pattern = NULL;
	bool all = rule->path.count > 0;

	while ((pattern = segment_text(segment, rule->path, pattern)))
		all = !(pattern[0] == '/' && path_behind_alias(segment, pattern)) &&
		      rule_sketch_add(sketch, pattern) && all;
	return all;
}

static void add_rule(const struct segment *segment, uint64_t index,
		     const struct settings_rule *rule, struct rule_program *program)
{
	uint32_t file_ops = (uint32_t)rule->ops & (RULE_READ | RULE_WRITE);

	program->rules |= UINT64_C(1) << index;
	if (!sketch_rule(segment, rule, &program->sketch))
		program->of_any |= UINT64_C(1) << index;
	program->ops |= (uint32_t)rule->ops & RULE_ANY;
	/* One without a path is of no file: its exceptions are names. */
	if (rule->action != RULE_ACTION_DENY || !file_ops || !rule->path.count)
		return;
	program->denies |= UINT64_C(1) << index;
	program->file_ops |= file_ops;
	if (file_ops & RULE_READ) /* another name is a way to read it */
		program->ops |= RULE_RENAME | RULE_LINK;
}

void rule_program_denying(const struct segment *segment, struct rule_program *ret_program)
{
	const struct settings_rule *rule;
	uint64_t count = segment->settings->rule_count;

	*ret_program = (struct rule_program){ 0 };
	for (uint64_t i = 0; i < count && i < SETTINGS_RULES_MAX; i++)
		if ((rule = rule_at(segment, i)) && rule->action == RULE_ACTION_DENY)
			add_rule(segment, i, rule, ret_program);
}

void rule_program(const struct segment *segment, const char *executable, const char *name,
		  struct rule_program *ret_program)
{
	const struct place place = place_of(segment, executable);
	const struct settings_rule *rule;
	uint64_t count = segment->settings->rule_count;

	*ret_program = (struct rule_program){ 0 };
	for (uint64_t i = 0; i < count && i < SETTINGS_RULES_MAX; i++) {
		if (!(rule = rule_at(segment, i)) ||
		    (rule->exe.count && !names_program(segment, rule->exe, &place, name)) ||
		    names_program(segment, rule->except_exe, &place, name))
			continue;
		add_rule(segment, i, rule, ret_program);
	}
}

static bool rule_holds(const struct segment *segment, const struct settings_rule *rule,
		       const struct place *place)
{
	if ((rule->where == RULE_WHERE_OUTSIDE && place->is_inside) ||
	    (rule->where == RULE_WHERE_WORKSPACE && !place->is_inside))
		return false;
	if (rule->path.count && !list_holds(segment, rule->path, place))
		return false;
	return !list_holds(segment, rule->except, place);
}

void rule_judge(const struct segment *segment, const struct rule_program *program,
		const struct rule_question *question, struct rule_answer *ret_answer)
{
	const struct settings_rule *rule;
	struct place place = { .path = NULL };

	uint64_t left = question->denies ? program->denies : program->rules;

	*ret_answer = (struct rule_answer){ .action = RULE_ACTION_OFF };
	if ((left & ~program->of_any) && !rule_sketch_may_match(&program->sketch, question->path))
		left &= program->of_any;
	for (; left; left &= left - 1) {
		uint32_t index = (uint32_t)__builtin_ctzll(left);
		uint32_t ops;

		if (!(rule = rule_at(segment, index)) ||
		    !(ops = (uint32_t)rule->ops & question->ops & RULE_ANY) ||
		    rule->action <= ret_answer->action)
			continue;
		if (!place.path)
			place = place_of(segment, question->path);
		if (!rule_holds(segment, rule, &place))
			continue;
		ret_answer->action = (enum rule_action)rule->action;
		ret_answer->rule = index;
		ret_answer->op = (enum rule_op)(ops & -ops);
		/* of a call that makes what is not there, and else takes what is, CREATE alone
		 * depends on which of them it is */
		ret_answer->needs_lookup = question->ops & RULE_ONLY_NEW ||
					   !(question->ops & RULE_CREATE) || ops == RULE_CREATE;
	}
}

bool rule_judge_file(const struct segment *segment, const struct rule_program *program,
		     uint32_t ops, uint64_t rules, struct rule_answer *ret_answer)
{
	const struct settings_rule *rule;

	for (rules &= program->denies; rules; rules &= rules - 1) {
		uint32_t index = (uint32_t)__builtin_ctzll(rules), of;

		if (!(rule = rule_at(segment, index)) || !(of = (uint32_t)rule->ops & ops))
			continue;
		*ret_answer = (struct rule_answer){ .action = RULE_ACTION_DENY,
						    .rule = index,
						    .op = (enum rule_op)(of & -of) };
		return true;
	}
	return false;
}

uint64_t rule_meaning(const struct segment *segment, const struct rule_program *program,
		      const char *path)
{
	const struct settings_rule *rule;
	struct place place = { .path = NULL };
	uint64_t left = program->denies, found = 0;

	if (!rule_sketch_may_match(&program->sketch, path))
		left &= program->of_any;
	for (; left; left &= left - 1) {
		uint32_t index = (uint32_t)__builtin_ctzll(left);

		if (!(rule = rule_at(segment, index)) || !rule->path.count)
			continue;
		if (!place.path)
			place = place_of(segment, path);
		if (rule_holds(segment, rule, &place))
			found |= UINT64_C(1) << index;
	}
	return found;
}

uint64_t rule_excepting(const struct segment *segment, uint64_t rules, const char *path)
{
	const struct place place = place_of(segment, path);
	const struct settings_rule *rule;
	uint64_t found = 0;

	for (uint64_t left = rules; left; left &= left - 1) {
		uint32_t index = (uint32_t)__builtin_ctzll(left);

		if ((rule = rule_at(segment, index)) && list_holds(segment, rule->except, &place))
			found |= UINT64_C(1) << index;
	}
	return found;
}

void rule_complete(const struct segment *segment, const struct rule_program *program,
		   const struct rule_question *question, bool is_there,
		   struct rule_answer *ret_answer)
{
	struct rule_question known = *question;
	bool makes = question->ops & RULE_CREATE;

	if (makes ? is_there && (question->ops & RULE_ONLY_NEW) : !is_there) {
		*ret_answer = (struct rule_answer){ .action = RULE_ACTION_OFF };
	} else if (makes && is_there) {
		known.ops &= ~(uint32_t)RULE_CREATE;
		rule_judge(segment, program, &known, ret_answer);
	}
	ret_answer->needs_lookup = false;
}

const char *rule_name(const struct segment *segment, uint32_t rule)
{
	const struct settings_rule *found = rule_at(segment, rule);
	const char *name = found ? segment_text(segment, found->name, NULL) : NULL;
	return name ? name : "";
}

const char *rule_op_name(uint32_t op)
{
#define WORD(constant, word) \
	case RULE_##constant: \
		return #word;
	switch (op) {
		SETTINGS_RULE_OPS(WORD)
	default:
		return NULL;
	}
#undef WORD
}

const char *rule_action_name(uint32_t action)
{
	static const char *const names[] = { "off", "log", "warn", "fail", "deny" };
	return action < sizeof(names) / sizeof(names[0]) ? names[action] : NULL;
}

void rule_count(const struct segment *segment, const struct rule_answer *answer)
{
	static const enum counter counters[] = {
		[RULE_ACTION_LOG] = COUNTER_rules_logged,
		[RULE_ACTION_WARN] = COUNTER_rules_warned,
		[RULE_ACTION_FAIL] = COUNTER_rules_failed,
		[RULE_ACTION_DENY] = COUNTER_rules_denied,
	};

	if (answer->action > RULE_ACTION_OFF && answer->action <= RULE_ACTION_DENY)
		segment_count(segment, counters[answer->action], 1);
}

/* What was done to a path. */
static const char *done(enum rule_op op)
{
	switch (op) {
	case RULE_READ:
		return "read";
	case RULE_WRITE:
		return "written";
	case RULE_CREATE:
		return "made";
	case RULE_DELETE:
		return "removed";
	case RULE_RENAME:
		return "renamed";
	case RULE_LINK:
		return "linked";
	case RULE_METADATA:
		return "changed";
	case RULE_LIST:
		return "listed";
	case RULE_EXEC:
		return "run";
	case RULE_ANY:
		break;
	}
	return "touched";
}

uint64_t rule_message_key(const struct segment *segment, const struct rule_answer *answer,
			  const char *path)
{
	/* Of an agent's ignore file one read is reported: a search reads many files. */
	bool is_reported_once = strncmp(rule_name(segment, answer->rule), "ignore.", 7) == 0;
	uint64_t key = (is_reported_once ? 0 : path_key(segment, path)) ^
		       (answer->rule + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
	return key ? key : 1;
}

size_t rule_format_message(const struct segment *segment, const struct rule_answer *answer,
			   const char *path, char *ret_line, size_t capacity)
{
	struct line line = { ret_line, 0, capacity };
	bool denied = answer->action == RULE_ACTION_DENY;

	if ((!denied && answer->action != RULE_ACTION_WARN) || capacity < 2)
		return 0;
	line_append(&line, "seen: ");
	if (!line_append_escaped(&line, path_relative(segment, path)))
		return 0;
	line_append(&line, denied ? ": not " : ": ");
	line_append(&line, done(answer->op));
	line_append(&line, denied ? ": rule " : ", which rule ");
	line_append(&line, rule_name(segment, answer->rule));
	line_append(&line, denied ? " does not allow it" : " warns of");
	return line_finish(&line);
}
