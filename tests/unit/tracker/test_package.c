/* tracker/process/package: which programs belong to one package of npm. */
#include <criterion/criterion.h>
#include <limits.h>
#include <signal.h>

#include "support.h"
#include "tracker/process/package.h"

#define AT "/usr/lib/node_modules/"

Test(package, one_package)
{
	cr_expect(package_is_same(AT "kilo/bin/kilo.js", AT "kilo/vendor/engine"));
	cr_expect(package_is_same(AT "@kilocode/cli/bin/kilo", AT "@kilocode/cli/bin/.kilo"));
	cr_expect(package_is_same(AT "a/node_modules/b/x", AT "a/node_modules/b/y"));
}

Test(package, one_for_a_machine)
{
	cr_expect(package_is_same(AT "@kilocode/cli/bin/kilo", AT "@kilocode/cli-linux-x64/bin/k"));
	cr_expect(package_is_same(AT "@kilocode/cli/bin/kilo",
				  AT "@kilocode/cli/node_modules/@kilocode/cli-linux-x64/bin/k"));
}

Test(package, another_package)
{
	cr_expect_not(package_is_same(AT "kilo/bin/kilo.js", AT "kilometer/bin/engine"));
	cr_expect_not(package_is_same(AT "kilo/bin/kilo.js", AT "other/bin/engine"));
	cr_expect_not(package_is_same(AT "kilo/x", AT "kilo/node_modules/left-pad/engine"));
	cr_expect_not(package_is_same(AT "@a/cli/x", AT "@b/cli/engine"));
	cr_expect_not(package_is_same(AT "kilo/x", "/work/node_modules/kilo/engine"));
	cr_expect_not(package_is_same("/usr/bin/kilo", "/usr/bin/engine"));
	cr_expect_not(package_is_same(AT "kilo", AT "kilo"));
	cr_expect_not(package_is_same(AT, AT));
	cr_expect_not(package_is_same(AT "@a", AT "@a"));
	cr_expect_not(package_is_same(AT ".bin/kilo", AT ".bin/engine"));
}

static struct world world;

/* A script as an interpreter runs it, by that word; it has one child.  Returns the interpreter. */
static pid_t start_script(const char *word, pid_t *ret_child)
{
	static const char SCRIPT[] = "$|=1; my $child = fork(); if ($child == 0) { sleep 100; exit "
				     "} print \"$child\\n\"; wait;";
	char text[32] = "";
	int ends[2];

	int fd = open(word, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	must(fd >= 0 && write(fd, SCRIPT, sizeof(SCRIPT) - 1) == sizeof(SCRIPT) - 1 &&
	     close(fd) == 0 && pipe(ends) == 0);
	pid_t pid = fork();
	if (pid == 0) {
		must(dup2(ends[1], 1) == 1 && setpgid(0, 0) == 0);
		(void)execl("/usr/bin/perl", "perl", "-w", word, "x", NULL);
		_exit(1);
	}
	must(close(ends[1]) == 0 && read(ends[0], text, sizeof(text) - 1) > 0 &&
	     close(ends[0]) == 0);
	*ret_child = (pid_t)strtol(text, NULL, 10);
	return pid;
}

/* Is a program the agent that its starter, a script, is? */
static bool completes(const char *script, const char *program)
{
	struct invocation invocation = { .role = ROLE_TOOL, .unknown = true };
	pid_t child, pid = start_script(script, &child);

	package_complete(&world.segment, (struct subject){ (uint32_t)child }, program, &invocation);
	must(kill(-pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
	cr_expect_eq(invocation.role == ROLE_AGENT, !invocation.unknown);
	return invocation.role == ROLE_AGENT;
}

Test(package, a_script_and_its_program)
{
	static char root[PATH_MAX], script[2 * PATH_MAX], linked[2 * PATH_MAX], path[2 * PATH_MAX];

	if (access("/usr/bin/perl", X_OK) != 0)
		cr_skip_test("no perl");
	world_open(&world, "processes.agents=my-*", NULL);
	must(realpath(world.root, root) && chdir(root) == 0);
	must(mkdir("node_modules", 0700) == 0 && mkdir("node_modules/kilo", 0700) == 0);
	(void)snprintf(script, sizeof(script), "%s/node_modules/kilo/my-agent", root);
	(void)snprintf(linked, sizeof(linked), "%s/my-link", root);
	must(symlink(script, linked) == 0);
	(void)snprintf(path, sizeof(path), "%s/node_modules/kilo/vendor/engine", root);
	cr_expect(completes(script, path));
	cr_expect(completes(linked, path), "it is what the link leads to");
	(void)snprintf(path, sizeof(path), "%s/node_modules/other/vendor/engine", root);
	cr_expect_not(completes(script, path));
	(void)snprintf(path, sizeof(path), "%s/kilo/vendor/engine", root);
	cr_expect_not(completes(script, path));
	world_close(&world);
}
