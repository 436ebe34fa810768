/* agent_version.h: which version a program or script is of, and which scopes are marked for it. */
#include <criterion/criterion.h>

#include "cli/agents/agent_version.h"
#include "support.h"

static struct world world;

static void start(void)
{
	world_open(&world, "agent one.measured=1.2.3", NULL);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(agent_version, .init = start, .fini = stop);

static const char *make(const char *name, const char *text)
{
	const char *path = world_path(&world, name);
	char directory[512];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		(void)snprintf(directory, sizeof(directory), "%.*s", (int)(slash - path), path);
		must(mkdir(directory, 0700) == 0 || errno == EEXIST);
	}
	write_path(path, text, strlen(text));
	return path;
}

Test(agent_version, by_the_package_that_it_lies_in)
{
	(void)make("package.json", "{\"name\":\"ws\",\"version\":\"9.9.9\"}");
	(void)make("m/one/package.json", "{\"name\":\"one\",\"version\":\"1.2.3\"}");
	const char *script = make("m/one/dist/cli.js", "");
	cr_assert(agent_version_is(script, "1.2.3"));
	cr_assert_not(agent_version_is(script, "1.2.4"));
	cr_assert_not(agent_version_is(script, "1.2"));
	(void)make("m/one/dist/package.json", "{\"type\":\"module\"}");
	cr_assert(agent_version_is(script, "1.2.3"), "one that does not say it is passed over");
	(void)make("m/one/dist/package.json", "{\"name\":\"x\",\"version\":\"1.2.3-linux-x64\"}");
	cr_assert(agent_version_is(script, "1.2.3"));
	(void)make("m/one/dist/package.json", "{\"name\":\"x\",\"version\":\"1.2.30\"}");
	cr_assert_not(agent_version_is(script, "1.2.3"), "the nearest one decides");
	(void)make("m/one/dist/package.json", "[not JSON");
	cr_assert(agent_version_is(script, "1.2.3"));
	cr_assert(agent_version_is(make("versions/1.2.3", ""), "1.2.3"), "the file's own name");
	cr_assert_not(agent_version_is(make("versions/1.2.31", ""), "1.2.3"));
	cr_assert_not(agent_version_is("/", "1.2.3"));
	cr_assert_not(agent_version_is("", "1.2.3"));
}

/* A script of an interpreter: this process plays it by its command line. */
Test(agent_version, scopes_are_marked)
{
	int ends[2], status;
	uint64_t same = scope_id_of(1, "same"), other = scope_id_of(2, "other"),
		 late = scope_id_of(3, "late");

	(void)make("m/one/package.json", "{\"name\":\"one\",\"version\":\"1.2.3\"}");
	const char *script = make("m/one/cli.sh", "read line\n");
	const char *foreign = make("m/two/cli.sh", "read line\n");
	pid_t children[2];
	must(pipe(ends) == 0);
	for (int i = 0; i < 2; i++) {
		children[i] = fork();
		must(children[i] >= 0);
		if (children[i] == 0) {
			must(dup2(ends[0], 0) == 0 && close(ends[1]) == 0);
			execl("/bin/sh", "sh", i ? foreign : script, NULL);
			_exit(127);
		}
	}
	uint32_t profile = 0;
	for (uint64_t i = 0; i < world.settings->profile_count; i++)
		if (strcmp(segment_text(&world.segment, world.settings->profiles[i].name, NULL),
			   "one") == 0)
			profile = (uint32_t)i + 1;
	for (int i = 0; i < 2; i++) { /* until they are what they are to be */
		char path[64], text[64] = "";
		(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)children[i]);
		while (strcmp(text, "sh") != 0) {
			int fd = open(path, O_RDONLY | O_CLOEXEC);
			must(fd >= 0 && read(fd, text, sizeof(text) - 1) >= 0 && close(fd) == 0);
		}
	}
	must(scope_claim(&world.segment, same, NULL, (uint32_t)children[0], profile, NULL));
	must(scope_claim(&world.segment, other, NULL, (uint32_t)children[1], profile, NULL));
	agent_versions_tick(&world.segment);
	cr_expect_eq(scope_flags(&world.segment, same), SCOPE_VERSION);
	cr_expect_eq(scope_flags(&world.segment, other), 0);
	must(close(ends[1]) == 0 && close(ends[0]) == 0);
	for (int i = 0; i < 2; i++)
		must(waitpid(children[i], &status, 0) == children[i]);
	/* A scope of that process whose command line says nothing any more. */
	must(scope_claim(&world.segment, late, NULL, (uint32_t)children[0], profile, NULL));
	agent_versions_tick(&world.segment);
	cr_expect_eq(scope_flags(&world.segment, late), SCOPE_VERSION);
}
