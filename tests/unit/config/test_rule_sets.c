/* config/data/rules: what the ready-made rules speak of, and what they leave alone. */
#include <criterion/criterion.h>

#include "config/load.h"
#include "config/pack.h"
#include "support.h"
#include "tracker/guard/rule.h"
#include "tracker/segment/segment_create.h"

static struct world world;

/* A session with these sets, of a user whose home is /home/u. */
static void use(const char *sets, const char *more_key, const char *more)
{
	static const char *const ENVIRONMENT[] = { "HOME=/home/u", NULL };
	static char text[SETTINGS_TEXT_BYTES_MAX];
	static struct config_request request;
	static struct settings settings;
	struct config *config = NULL;
	struct config_error error = { "" };
	size_t used = 0;

	world_open(&world, NULL);
	request = (struct config_request){ .system_file = "/nonexistent/seen.ini",
					   .environment = ENVIRONMENT,
					   .directory = world.workspace };
	request.flags[request.flag_count++] = (struct config_flag){ "paths.workspace",
								    world.workspace, "test" };
	request.flags[request.flag_count++] = (struct config_flag){ "rules.use", sets, "test" };
	if (more)
		request.flags[request.flag_count++] = (struct config_flag){ more_key, more,
									    "test" };
	must(setenv("TMPDIR", "/home/u/scratch", 1) == 0);
	must(config_new(&config) == 0);
	cr_assert_eq(config_load(config, &request, &error), 0, "%s", error.text);
	cr_assert_eq(config_pack(config, &settings, text, sizeof(text), &used, &error), 0, "%s",
		     error.text);
	segment_write_settings(&world.segment, &settings, text, used);
	config_free(config);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(rule_sets, .fini = stop);

/* The rule that speaks of an access, "" for none.  path: @ stands for the workspace's root. */
static const char *rule_of(const char *exe, uint32_t ops, const char *path,
			   enum rule_action *ret_action)
{
	struct rule_program program;
	struct rule_question question = { .ops = ops };
	struct rule_answer answer;
	char whole[SEGMENT_PATH_BYTES], executable[128];

	(void)snprintf(whole, sizeof(whole), "%s%s", path[0] == '@' ? world.workspace : "",
		       path + (path[0] == '@'));
	(void)snprintf(executable, sizeof(executable), "/usr/bin/%s", exe);
	question.path = whole;
	rule_program(&world.segment, executable, exe, &program);
	rule_judge(&world.segment, &program, &question, &answer);
	if (answer.needs_lookup)
		rule_complete(&world.segment, &program, &question, !(ops & RULE_CREATE), &answer);
	*ret_action = answer.action;
	return answer.action ? rule_name(&world.segment, answer.rule) : "";
}

struct expected {
	const char *path, *rule, *exe; /* exe: NULL: cat */
};

static void hold(const struct expected *expected, size_t count, uint32_t ops)
{
	enum rule_action action;

	for (size_t i = 0; i < count; i++) {
		const char *rule = rule_of(expected[i].exe ? expected[i].exe : "cat", ops,
					   expected[i].path, &action);
		cr_expect_str_eq(rule, expected[i].rule, "%s of %s: '%s', not '%s'",
				 expected[i].exe ? expected[i].exe : "cat", expected[i].path, rule,
				 expected[i].rule);
	}
}

#define HOLD(expected, ops) hold(expected, sizeof(expected) / sizeof((expected)[0]), ops)

Test(rule_sets, secrets)
{
	static const struct expected READS[] = {
		{ "@/.env", "secrets-env", NULL },
		{ "@/app/.env.production", "secrets-env", NULL },
		{ "@/app/.env.example", "", NULL },
		{ "@/prod.env", "secrets-env", "python3" },
		{ "@/node_modules/dotenv/tests/.env", "", "node" },
		{ "@/.env-staging", "secrets-env", NULL },
		{ "@/.env_local", "secrets-env", NULL },
		{ "@/.env-example", "", NULL },
		{ "@/environment", "", NULL },
		{ "@/certs/server.key", "secrets-keys", "grep" },
		{ "@/server.pem", "secrets-keys", NULL },
		{ "@/server-cert.pem", "", NULL },
		{ "/etc/ssl/certs/ca-certificates.crt", "", "curl" },
		{ "/etc/ssl/certs/ISRG_Root_X1.pem", "", "curl" },
		{ "/etc/apt/keyrings/x.key", "", NULL },
		{ "/etc/ssl/private/ssl-cert-snakeoil.key", "secrets-keys", "curl" },
		{ "@/v/lib/python3.11/site-packages/certifi/cacert.pem", "", "python3" },
		{ "/usr/lib/python3/dist-packages/x/key.pem", "", "python3" },
		{ "/home/u/.ssh/id_ed25519", "secrets-keys", NULL },
		{ "/home/u/.ssh/work", "secrets-ssh", NULL },
		{ "/home/u/.ssh/work", "", "ssh" },
		{ "/home/u/.ssh/id_ed25519", "", "ssh" },
		{ "/home/u/.ssh/id_ed25519.pub", "", NULL },
		{ "/home/u/.ssh/config", "", "git" },
		{ "/home/u/.ssh/known_hosts", "", NULL },
		{ "/home/u/.aws/credentials", "secrets-cloud", NULL },
		{ "/home/u/.aws/credentials", "", "aws" },
		{ "/home/u/.aws/config", "", NULL },
		{ "/home/u/.config/gcloud/application_default_credentials.json", "secrets-cloud",
		  "node" },
		{ "/home/u/.azure/msal_token_cache.json", "secrets-cloud", NULL },
		{ "/home/u/.kube/config", "secrets-cloud", NULL },
		{ "/home/u/.kube/config", "", "kubectl" },
		{ "/home/u/.kube/pki/client.key", "", "kubectl" },
		{ "/run/secrets/db", "secrets-cloud", NULL },
		{ "/home/u/.config/rclone/rclone.conf", "secrets-cloud", NULL },
		{ "/home/u/.config/rclone/rclone.conf", "", "rclone" },
		{ "@/terraform.tfstate", "secrets-cloud", NULL },
		{ "/home/u/.npmrc", "secrets-registry", NULL },
		{ "/home/u/.npmrc", "", "npm" },
		{ "@/.npmrc", "secrets-registry", "node" },
		{ "/usr/etc/npmrc", "", NULL },
		{ "/home/u/.pypirc", "secrets-registry", NULL },
		{ "/home/u/.pypirc", "", "twine" },
		{ "/home/u/.docker/config.json", "secrets-registry", NULL },
		{ "/home/u/.docker/config.json", "", "docker" },
		{ "/home/u/.cargo/credentials.toml", "secrets-registry", NULL },
		{ "/home/u/.cargo/config.toml", "", NULL },
		{ "/home/u/.netrc", "secrets-tokens", NULL },
		{ "/home/u/.netrc", "", "curl" },
		{ "/home/u/.authinfo", "secrets-tokens", NULL },
		{ "/home/u/.config/gh/hosts.yml", "secrets-tokens", NULL },
		{ "/home/u/.config/gh/hosts.yml", "", "gh" },
		{ "/home/u/.git-credentials", "secrets-tokens", NULL },
		{ "/home/u/.git-credentials", "", "git-credential-store" },
		{ "/home/u/.gnupg/private-keys-v1.d/0.key", "secrets-tokens", NULL },
		{ "/home/u/.gnupg/private-keys-v1.d/0.key", "", "gpg-agent" },
		{ "/home/u/.gnupg/pubring.kbx", "", NULL },
		{ "/etc/shadow", "secrets-tokens", NULL },
		{ "/etc/passwd", "", NULL },
		{ "@/src/main.c", "", NULL },
	};
	static const struct expected WRITES[] = { { "@/.env", "", NULL } };

	use("secrets", NULL, NULL);
	HOLD(READS, RULE_READ);
	HOLD(WRITES, RULE_WRITE);
}

Test(rule_sets, writes_beyond_the_workspace)
{
	static const struct expected WRITES[] = {
		{ "@/src/main.c", "", NULL },
		{ "@", "", NULL },
		{ "/home/u/other/main.c", "outside", NULL },
		{ "/home/u/.bashrc", "outside", NULL },
		{ "/home/u/.ssh/authorized_keys", "outside", NULL },
		{ "/home/u/.ssh/known_hosts", "", "ssh" },
		{ "/etc/hosts", "outside", NULL },
		{ "/usr/local/bin/x", "outside", "make" },
		{ "/tmp/x", "", NULL },
		{ "/var/tmp/x", "", NULL },
		{ "/var/cache/man/cat1/x", "", "man" },
		{ "/var/lib/dpkg/status", "outside", "dpkg" },
		{ "/home/u/.config/configstore/update-notifier-npm.json", "", "node" },
		{ "/dev/null", "", NULL },
		{ "/dev/pts/3", "", NULL },
		{ "/proc/self/oom_score_adj", "", NULL },
		{ "/sys/power/state", "outside", NULL },
		{ "/home/u/scratch/x", "", NULL }, /* $TMPDIR */
		{ "/home/u/.cache", "", "pip" },
		{ "/home/u/.cache/pip/x", "", "pip" },
		{ "/home/u/.npm/_cacache/x", "", "npm" },
		{ "/home/u/.npmrc", "outside", NULL },
		{ "/home/u/.cargo/registry/x", "", "cargo" },
		{ "/home/u/.cargo/bin/x", "outside", "cargo" },
		{ "/home/u/go/pkg/mod/x", "", "go" },
		{ "/home/u/.claude/projects/x.jsonl", "", "claude" },
		{ "/home/u/.codex/history.jsonl", "", "codex" },
		/* of a worktree or submodule */
		{ "/home/u/main/.git/objects/ab/cd", "", "git" },
		{ "/home/u/main/.git/worktrees/w/index.lock", "", "git" },
		{ "/home/u/main/.git/config", "outside", "git" },
		{ "/home/u/main/.git/hooks/pre-commit", "outside", NULL },
	};
	static const struct expected READS[] = { { "/etc/hosts", "", NULL } };

	use("outside", NULL, NULL);
	HOLD(WRITES, RULE_WRITE | RULE_CREATE);
	HOLD(WRITES, RULE_DELETE);
	HOLD(READS, RULE_READ);
}

Test(rule_sets, ci)
{
	static const struct expected WRITES[] = {
		{ "@/.github/workflows/ci.yml", "ci-pipelines", NULL },
		{ "@/.github/workflows", "ci-pipelines", "mkdir" },
		{ "@/.github/ISSUE_TEMPLATE/x.md", "", NULL },
		{ "@/.gitlab-ci.yml", "ci-pipelines", NULL },
		{ "@/.circleci/config.yml", "ci-pipelines", NULL },
		{ "@/sub/Jenkinsfile", "ci-pipelines", NULL },
		{ "@/azure-pipelines.yml", "ci-pipelines", NULL },
		{ "@/node_modules/x/.travis.yml", "", "npm" },
		{ "/home/u/other/.gitlab-ci.yml", "", NULL },
		{ "@/.git/config", "ci-vcs", "git" },
		{ "@/.git/hooks/pre-commit", "ci-vcs", NULL },
		{ "@/.git/hooks/pre-commit.sample", "", "git" },
		{ "@/.git/modules/a/b/config", "ci-vcs", NULL },
		{ "@/.git/index.lock", "", "git" },
		{ "@/.git/COMMIT_EDITMSG", "", "git" },
		{ "@/.git/refs/heads/x", "", "git" },
		{ "@/.gitmodules", "ci-vcs", NULL },
		{ "@/.seen.ini", "ci-vcs", NULL },
		{ "@/.gitattributes", "ci-vcs", NULL },
		{ "@/.gitignore", "", NULL },
		{ "@/.husky/pre-push", "ci-vcs", NULL },
		{ "@/.pre-commit-config.yaml", "ci-vcs", NULL },
		{ "/home/u/.gitconfig", "ci-user", "git" },
		{ "@/src/config", "", NULL },
	};
	static const struct expected READS[] = { { "@/.git/config", "", "git" },
						 { "@/.gitlab-ci.yml", "", NULL } };

	use("ci", NULL, NULL);
	HOLD(WRITES, RULE_WRITE | RULE_CREATE);
	HOLD(WRITES, RULE_DELETE);
	HOLD(READS, RULE_READ);
}

Test(rule_sets, what_they_do)
{
	enum rule_action action;

	use("secrets:deny ci outside:log ci:fail ci:log", NULL, NULL);
	cr_assert_str_eq(rule_of("cat", RULE_READ, "@/.env", &action), "secrets-env");
	cr_assert_eq(action, RULE_ACTION_DENY);
	cr_assert_str_eq(rule_of("cat", RULE_WRITE, "/etc/x", &action), "outside");
	cr_assert_eq(action, RULE_ACTION_LOG);
	/* the strictest that is named */
	cr_assert_str_eq(rule_of("cat", RULE_WRITE, "@/.gitmodules", &action), "ci-vcs");
	cr_assert_eq(action, RULE_ACTION_FAIL);
}

Test(rule_sets, none_without_being_named)
{
	enum rule_action action;

	use("ci", NULL, NULL);
	cr_assert_str_empty(rule_of("cat", RULE_READ, "@/.env", &action));
	cr_assert_eq(world.segment.settings->rule_count, 3);
}

Test(rule_sets, a_section_of_the_users_own_changes_one_rule)
{
	enum rule_action action;

	use("secrets:deny", "rule secrets-env.action", "log");
	cr_assert_str_eq(rule_of("cat", RULE_READ, "@/.env", &action), "secrets-env");
	cr_assert_eq(action, RULE_ACTION_LOG);
	cr_assert_str_eq(rule_of("cat", RULE_READ, "/home/u/.npmrc", &action), "secrets-registry");
	cr_assert_eq(action, RULE_ACTION_DENY);
}

Test(rule_sets, a_section_of_the_users_own_puts_its_rule_in_force)
{
	enum rule_action action;

	use("", "rule secrets-env.path", "vault.txt");
	cr_assert_str_eq(rule_of("cat", RULE_READ, "@/vault.txt", &action), "secrets-env");
	cr_assert_str_eq(rule_of("cat", RULE_READ, "@/.env", &action), "secrets-env");
	cr_assert_eq(action, RULE_ACTION_WARN);
	cr_assert_eq(world.segment.settings->rule_count, 1);
}

Test(rule_sets, off_takes_one_out)
{
	enum rule_action action;

	use("secrets", "rule secrets-env.action", "off");
	cr_assert_str_empty(rule_of("cat", RULE_READ, "@/.env", &action));
}
