/* The mechanisms: see via.h. */
#include "cli/run/via.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/base/executable.h"
#include "cli/run/above.h"
#include "cli/session/session.h"
#include "config/rules.h"
#include "config/value.h"
#include "tracker/path/path.h"

/* What no supervisor means for the user. */
#define UNSEEN "; what the library cannot be in is not seen (--via preload: without this line)"

static const char GAINS_PRIVILEGES[] =
	"no supervisor: the command gains privileges (setuid), which it would lose below one";
static const char REFUSED_PRIVILEGES[] =
	"no supervisor: the command gains privileges (setuid), which it would lose below "
	"one" UNSEEN;
static const char LOST_PRIVILEGES[] = "the command would gain privileges (setuid), and does not "
				      "below the supervisor; --via preload "
				      "leaves them to it";

static const char LEFT_OUT[] = "lib/seen/libseen.so is not beside this program: the supervisor "
			       "alone observes, which knows no "
			       "results, reads or writes (--via supervise: without this line)";

const char *via_name(enum session_via ways)
{
	static const char *const NAMES[] = {
#define CHOICE(constant, word) #word,
		SETTINGS_CHOICES_session_via(CHOICE)
#undef CHOICE
	};
	return (size_t)ways < sizeof(NAMES) / sizeof(NAMES[0]) ? NAMES[ways] : "?";
}

/* Why there is no supervisor: as a phrase, and as a line. */
struct obstacle {
	const char *why, *line;
};
#define OBSTACLE(why) \
	{ \
		why, why UNSEEN \
	}

static const struct obstacle *obstacle_of(int error)
{
	static const struct obstacle OLD = OBSTACLE(
		"no supervisor: the kernel is older than 5.14 or has no seccomp user notification");
	static const struct obstacle FORBIDDEN = OBSTACLE(
		"no supervisor: the policy of this machine, container or sandbox forbids it");
	static const struct obstacle BUSY = OBSTACLE(
		"no supervisor: there is one above already, of a sandbox or another seen");
	static const struct obstacle OTHER = OBSTACLE("no supervisor: it cannot be set up here");

	switch (error) {
	case -ENOSYS:
		return &OLD;
	case -EPERM:
	case -EACCES:
		return &FORBIDDEN;
	case -EBUSY:
		return &BUSY;
	default:
		return &OTHER;
	}
}

const char *via_explain(int error)
{
	return obstacle_of(error)->line;
}

bool via_drops_privileges(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	return syscall(SYS_capget, &header, data) < 0 ||
	       !(data[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN));
}

const char *via_obstacle(const struct executable *executable)
{
	static const char *const PHRASES[OBSTACLE_COUNT] = {
		[OBSTACLE_FOREIGN] = "for another architecture",
		[OBSTACLE_STATIC] = "static",
		[OBSTACLE_MUSL] = "linked with musl",
		[OBSTACLE_LIBC] = "not linked with glibc",
		[OBSTACLE_SANITIZER] = "built with AddressSanitizer",
		[OBSTACLE_GO] = "built with Go",
		[OBSTACLE_BUN] = "built with Bun",
	};
	return PHRASES[executable_obstacle(executable)];
}

const struct config_rule *via_binding_rule(const struct config *config)
{
	for (size_t i = 0; i < config_rule_count(config); i++)
		if (config_rule_binds(config, config_rule_at(config, i)))
			return config_rule_at(config, i);
	return NULL;
}

const struct config_rule *via_denying_rule(const struct config *config)
{
	for (size_t i = 0; i < config_rule_count(config); i++) {
		const struct config_rule *rule = config_rule_at(config, i);
		if (rule->values[RULE_OPTION_ACTION].number == RULE_ACTION_DENY &&
		    config_rule_binds(config, rule))
			return rule;
	}
	return NULL;
}

static bool rule_wants_both(struct via *via)
{
	if (via->rule)
		(void)snprintf(via->reason, sizeof(via->reason), "[rule %.60s] is to hold (%s)",
			       via->rule->name, via->rule->values[RULE_OPTION_ACTION].text);
	return via->rule != NULL;
}

static bool file_wants_both(const struct executable *chain, int count, struct via *via)
{
	for (int i = 0; i < count; i++) {
		const char *obstacle = via_obstacle(&chain[i]);
		if (!obstacle)
			continue;
		(void)snprintf(via->reason, sizeof(via->reason), "%.60s is %s",
			       path_base(chain[i].path), obstacle);
		return true;
	}
	return false;
}

static bool gains_privileges(const struct executable *chain, int count)
{
	/* Of a script's own bits the kernel takes no notice. */
	const struct executable *last = count > 0 ? &chain[count - 1] : NULL;
	return last && (last->setuid || last->setgid || last->capabilities) &&
	       via_drops_privileges();
}

bool via_has_library(void)
{
	char library[PATH_MAX];

	/* without /proc it is not known, and the supervisor could read no process: run_start.c says so */
	int error = session_library(library, sizeof(library));
	return error == 0 || error == -ENODEV;
}

void via_choose(const struct config *config, char *const words[], bool has_library,
		int (*supported)(void), struct via *ret_via)
{
	const struct config_value *said = config_value(config, OPTION_session_via);
	struct executable *chain = calloc(EXECUTABLE_CHAIN_MAX, sizeof(*chain));
	struct via via = { .ways = (enum session_via)said->number,
			   .rule = via_binding_rule(config) };
	bool is_auto = via.ways == SESSION_VIA_AUTO;
	char missing[PATH_MAX];
	int count = chain ? executable_chain(words[0], chain, missing) : 0;

	if (!is_auto) {
		(void)snprintf(via.reason, sizeof(via.reason), "set by %s", said->origin);
	} else if (!has_library) {
		via.ways = SESSION_VIA_SUPERVISE;
		via.note = LEFT_OUT;
		(void)snprintf(via.reason, sizeof(via.reason), "there is no library");
	} else if (rule_wants_both(&via)) {
		via.ways = SESSION_VIA_BOTH;
	} else if (count > 0 && file_wants_both(chain, count, &via)) {
		via.ways = SESSION_VIA_BOTH;
	} else {
		via.ways = SESSION_VIA_PRELOAD;
		(void)snprintf(via.reason, sizeof(via.reason), "%s",
			       count > 0 ? "nothing in its file keeps the library out"
					 : "its file cannot be inspected");
	}
	if (via.ways != SESSION_VIA_PRELOAD) {
		int error = 0;
		if (gains_privileges(chain, count)) {
			via.note = is_auto ? REFUSED_PRIVILEGES : LOST_PRIVILEGES;
			if (is_auto) {
				via.ways = SESSION_VIA_PRELOAD;
				via.weakness = GAINS_PRIVILEGES;
			}
			/* The loader leaves the library out of it. */
			if (is_auto && via.rule)
				via.refusal = "the command gains privileges (setuid), and neither "
					      "mechanism sees it so";
		}
		if (via.ways != SESSION_VIA_PRELOAD && (error = supported()) < 0) {
			via.note = via_explain(error);
			via.weakness = error == -EBUSY && above_denies(config)
					       ? NULL
					       : obstacle_of(error)->why;
			via.ways = SESSION_VIA_PRELOAD;
		}
	} else {
		via.weakness = "by --via preload, what the library cannot be in is not seen";
	}
	via.at_exec = is_auto && !via.rule && has_library;
	free(chain);
	*ret_via = via;
}
