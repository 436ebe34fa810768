/* cli/run/shell_script: the command that a script leads to. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/run/shell_script.h"

/* The command's words, a bar between them; "-": there is none. */
static const char *command_of(const char *script)
{
	static char found[1024];
	char text[1024], *words[SHELL_SCRIPT_WORDS];

	(void)snprintf(text, sizeof(text), "%s", script);
	int error = shell_script_command(text, "/opt/tool/bin/start", words);
	cr_assert(error == 0 || error == -ENOENT, "%d", error);
	(void)snprintf(found, sizeof(found), "%s", error ? "-" : "");
	for (int i = 0, used = 0; error == 0 && words[i]; i++)
		used += snprintf(found + used, sizeof(found) - (size_t)used, "%s%s", i ? "|" : "",
				 words[i]);
	if (error == 0)
		shell_script_free(words);
	return found;
}

Test(shell_script, leads_to_the_last_command_that_gets_its_arguments)
{
	cr_expect_str_eq(command_of("#!/bin/sh\nmake\nagent --flag \"$@\"\n"), "agent|--flag");
	cr_expect_str_eq(command_of("first \"$@\"\nexec second\n"), "second");
	cr_expect_str_eq(command_of("exec -a name agent ${1+\"$@\"}\n"), "agent");
	cr_expect_str_eq(command_of("if [ -n \"$X\" ]; then agent 'a b' $*; fi\n"), "agent|a b");
	cr_expect_str_eq(command_of("test -x a && \\\n  exec agent c\\ d # a comment\n"),
			 "agent|c d");
	cr_expect_str_eq(command_of("A=1 exec env B=2 agent \"$@\""), "env|B=2|agent");
	cr_expect_str_eq(command_of("agent run"), "agent|run");
	cr_expect_str_eq(command_of("set -e\nexec \"$@\"\n"), ""); /* its arguments */
}

Test(shell_script, what_is_known_is_put_in_place)
{
	cr_expect_str_eq(command_of("exec \"$(dirname \"$0\")/agent\" \"$@\"\n"),
			 "/opt/tool/bin/agent");
	cr_expect_str_eq(command_of("HERE=${0%/*}\nNAME=\"agent\"\nexec $HERE/$NAME\n"),
			 "/opt/tool/bin/agent");
	cr_expect_str_eq(command_of("program=\"${0##*/}\"\nexec pyenv exec \"$program\" \"$@\"\n"),
			 "pyenv|exec|start");
	cr_expect_str_eq(command_of("export X=/a; exec '$X' ${X}/b\n"), "$X|/a/b");
}

Test(shell_script, what_is_not_known_is_not_guessed)
{
	cr_expect_str_eq(command_of("make\ntouch f\n"), "-");
	cr_expect_str_eq(command_of("exec \"$(cat f)\" \"$@\"\n"), "-");
	cr_expect_str_eq(command_of("agent \"$@\"\nexec $(which other)\n"), "-");
	cr_expect_str_eq(command_of("X=`cat f`\n$X \"$@\"\n"), "-");
	cr_expect_str_eq(command_of("exec 3>&1 >log\n"), "-");
	cr_expect_str_eq(command_of("# exec agent\necho '\nexec agent\n"), "-");
	cr_expect_str_eq(command_of(""), "-");
	cr_expect_str_eq(command_of("\\"), "\\");
}
