/* config/rules.c: [rule NAME] sections, from seen.ini to the settings that travel. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "config/pack.h"
#include "config/rules.h"
#include "config/value.h"

static struct config *config;
static struct config_error error;
static struct settings settings;
static char area[SETTINGS_TEXT_BYTES_MAX];

static void start(void)
{
	cr_assert_eq(config_new(&config), 0);
}

static void stop(void)
{
	config = config_free(config);
}

TestSuite(config_rules, .init = start, .fini = stop);

static void read_file(const char *text, bool trusted)
{
	cr_assert_eq(config_read(config, text, strlen(text), trusted ? "mine.ini" : "theirs.ini",
				 trusted, &error),
		     0, "%s", error.text);
}

/* The text is refused, by a line that begins with file and line and holds `part`. */
static void refuses(const char *text, bool trusted, const char *line, const char *part)
{
	char begin[64];

	cr_assert_lt(config_read(config, text, strlen(text), trusted ? "mine.ini" : "theirs.ini",
				 trusted, &error),
		     0, "%s", text);
	(void)snprintf(begin, sizeof(begin), "%s:%s: ", trusted ? "mine.ini" : "theirs.ini", line);
	cr_assert_eq(strncmp(error.text, begin, strlen(begin)), 0, "%s", error.text);
	cr_assert(strstr(error.text, part) != NULL, "'%s' is not in: %s", part, error.text);
	cr_assert_null(strchr(error.text, '\n'));
}

static const struct config_value *value(const char *rule, enum rule_option_id id)
{
	const struct config_rule *found = config_rule_find(config, rule);

	cr_assert_not_null(found, "no rule %s", rule);
	return &found->values[id];
}

static const struct settings_rule *packed(const char *name)
{
	size_t used = 0;

	cr_assert_eq(config_pack(config, &settings, area, sizeof(area), &used, &error), 0, "%s",
		     error.text);
	for (uint64_t i = 0; i < settings.rule_count; i++)
		if (strcmp(settings_text_next(area, used, settings.rules[i].name, NULL), name) == 0)
			return &settings.rules[i];
	return NULL;
}

Test(config_rules, read)
{
	read_file("[rule a.b-c_d+e@f]\nop = read, write\nop = delete\npath = *.key x\npath = ~/y\n"
		  "except = x/z\nwhere = outside\nexe = cat\nexcept_exe = git hg\naction = deny\n",
		  true);
	cr_assert_str_eq(value("a.b-c_d+e@f", RULE_OPTION_OP)->text, "read write delete");
	cr_assert_str_eq(value("a.b-c_d+e@f", RULE_OPTION_PATH)->text, "*.key x ~/y");
	cr_assert_str_eq(value("a.b-c_d+e@f", RULE_OPTION_PATH)->origin, "mine.ini:4, mine.ini:5");
	cr_assert_str_eq(value("a.b-c_d+e@f", RULE_OPTION_ACTION)->origin, "mine.ini:10");
	cr_assert_str_eq(config_rule_find(config, "a.b-c_d+e@f")->origin, "mine.ini:1");
	const struct settings_rule *rule = packed("a.b-c_d+e@f");

	cr_assert_not_null(rule);
	cr_assert_eq(rule->ops, RULE_READ | RULE_WRITE | RULE_DELETE);
	cr_assert_eq(rule->action, RULE_ACTION_DENY);
	cr_assert_eq(rule->where, RULE_WHERE_OUTSIDE);
	cr_assert_eq(rule->except_exe.count, 2);
	/* without a home: what begins with ~/ is left out */
	cr_assert_eq(rule->path.count, 2);
}

Test(config_rules, defaults)
{
	read_file("[rule r]\nop = any\n", true);
	const struct settings_rule *rule = packed("r");

	cr_assert_eq(rule->ops, RULE_ANY);
	cr_assert_eq(rule->action, RULE_ACTION_LOG);
	cr_assert_eq(rule->where, RULE_WHERE_ANYWHERE);
	cr_assert_eq(rule->path.count, 0);
	cr_assert_str_eq(value("r", RULE_OPTION_ACTION)->origin, "built-in");
}

/* A glob that means nothing here must not make the rule one of every path. */
Test(config_rules, of_nothing)
{
	read_file("[rule r]\nop = any\npath = ~/x\naction = deny\n[rule s]\nop = any\nexe = ~/x\n"
		  "[rule t]\nop = any\nexcept = ~/x\n[rule u]\nop = any\naction = off\n",
		  true);
	cr_assert_null(packed("r"));
	cr_assert_null(packed("s"));
	cr_assert_not_null(packed("t"));
	cr_assert_null(packed("u"));
	cr_assert_eq(settings.rule_count, 1);
}

Test(config_rules, mistakes)
{
	refuses("[rule r]\nop = raed\n", true, "2",
		"[rule r] op = 'raed' is none of: read, write, create, delete, rename, link, "
		"metadata, list, exec, any; did you mean 'read'?");
	refuses("[rule r]\nop = read Write\n", true, "2", "'Write' is none of");
	refuses("[rule r]\naction = forbid\n", true, "2", "is none of: off, log, warn, fail, deny");
	refuses("[rule r]\nwhere = inside\n", true, "2",
		"is none of: anywhere, outside, workspace");
	refuses("[rule r]\npaths = x\n", true, "2",
		"unknown key 'paths' in [rule r]; did you mean 'path'?");
	refuses("[rule r]\nzebra = x\n", true, "2",
		"its keys are: op, path, except, where, exe, except_exe, action");
	refuses("[rule r]\naction = log\naction = deny\n", true, "3", "given twice in one file");
	refuses("[rule]\nop = read\n", true, "1", "[rule] needs a name: [rule NAME]");
	refuses("[rule ]\nop = read\n", true, "1", "is not [rule NAME]");
	refuses("[rule a b]\nop = read\n", true, "1", "is not [rule NAME]");
	refuses("[rule -x]\nop = read\n", true, "1", "is not [rule NAME]");
	refuses("[rule x/y]\nop = read\n", true, "1", "is not [rule NAME]");
	refuses("[rule r]\npath = \x01\n", true, "2", "");
	refuses("[rulr x]\nop = read\n", true, "1", "unknown section [rulr x]");
	cr_assert_null(config_rule_find(config, "r"));
}

Test(config_rules, names_have_an_end)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "[rule %.*s]\nop = read\n", CONFIG_PROFILE_NAME_MAX,
		       "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	read_file(text, true);
	(void)snprintf(text, sizeof(text), "[rule %.*s]\nop = read\n", CONFIG_PROFILE_NAME_MAX + 1,
		       "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	refuses(text, true, "1", "at most 40 bytes");
}

/* A later trusted source changes a rule; a list is extended, or cleared by an empty value. */
Test(config_rules, changed)
{
	read_file("[rule r]\nop = read\npath = a\naction = deny\n", true);
	read_file("[rule r]\npath = b\naction = off\n", true);
	cr_assert_str_eq(value("r", RULE_OPTION_PATH)->text, "a b");
	cr_assert_null(packed("r"));
	cr_assert_eq(config_set(config, "rule r.path", "", "-c", &error), 0);
	cr_assert_eq(config_set(config, "rule r.action", "warn", "-c", &error), 0);
	cr_assert_eq(packed("r")->path.count, 0);
	cr_assert_eq(packed("r")->action, RULE_ACTION_WARN);
	cr_assert_eq(config_set(config, "rule x.y.op", "exec", "-c", &error), 0);
	cr_assert_not_null(packed("x.y"));
}

/* What the file of a workspace may do. */
Test(config_rules, untrusted)
{
	read_file("[rule mine]\nop = read\nexcept = a\n", true);
	refuses("[rule mine]\n", false, "1",
		"may only add rules: [rule mine] is there already, by mine.ini:1; give this one "
		"another name");
	refuses("[rule theirs]\nop = read\nwhere = anywhere\n", false, "3",
		"may only choose a later word of the list");
	refuses("[rule theirs]\nop = read\nwhere = outside\n", false, "3", "is none of: workspace");
	refuses("[rule theirs]\nop = read\naction = off\n", false, "3",
		"is none of: log, warn, fail, deny");
	refuses("[rule theirs]\nop =\n", false, "2", "cannot be cleared");
	read_file("[rule theirs]\nop = read\npath = /**\nexcept = **\naction = deny\nwhere = "
		  "workspace\n",
		  false);
	cr_assert_eq(packed("theirs")->where, RULE_WHERE_WORKSPACE);
	cr_assert_eq(packed("theirs")->action, RULE_ACTION_DENY);

	/* a trusted file that begins a rule of that name begins anew */
	read_file("[rule theirs]\nop = write\n", true);
	cr_assert_eq(packed("theirs")->where, RULE_WHERE_ANYWHERE);
	cr_assert_eq(packed("theirs")->except.count, 0);
	cr_assert_eq(packed("theirs")->ops, RULE_WRITE);
	refuses("[rule theirs]\n", false, "1", "is there already, by mine.ini:1");
}

/* A flag changes one key of a workspace's rule, and what that said stays: the user sees it. */
Test(config_rules, flag_on_untrusted)
{
	read_file("[rule theirs]\nop = read\naction = deny\n", false);
	cr_assert_eq(config_set(config, "rule theirs.action", "off", "-c", &error), 0);
	cr_assert_null(packed("theirs"));
}

/* The author of a workspace's file may guess the name of a rule that a flag makes: what it excepts is not to hold for that. */
Test(config_rules, flag_of_a_guessed_name)
{
	read_file("[rule mine]\nop = read\nexcept = .env\n", false);
	cr_assert_eq(config_set(config, "rule mine.path", ".env", "-c", &error), -EINVAL);
	cr_assert_not_null(strstr(error.text, "-c: [rule mine] is a workspace's, by theirs.ini:1"),
			   "%s", error.text);
	cr_assert_eq(config_set(config, "rule mine.op", "read", "-c", &error), -EINVAL);
	/* what takes nothing of it over is allowed */
	cr_assert_eq(config_set(config, "rule mine.except", "", "-c", &error), 0);
	cr_assert_eq(config_set(config, "rule mine.action", "deny", "-c", &error), 0);
	cr_assert_eq(packed("mine")->except.count, 0);
}

Test(config_rules, too_many)
{
	char text[64];

	for (int i = 0; config_rule_count(config) < 128; i++) {
		(void)snprintf(text, sizeof(text), "[rule r%d]\nop = any\naction = off\n", i);
		read_file(text, true);
	}
	refuses("[rule one-more]\n", true, "1", "at most 128 rules are allowed");
}

Test(config_rules, copied)
{

	read_file("[rule r]\nop = read\npath = a\n", true);
	/* a change that fails leaves all as it was */
	refuses("[rule r]\npath = b\n[rule r]\nop = x\n", true, "4", "");
	cr_assert_str_eq(value("r", RULE_OPTION_PATH)->text, "a");
}
