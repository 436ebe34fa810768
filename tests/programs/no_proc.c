/* Hazard: /proc is not mounted, or lost while the program runs (containers, sandboxes, chroots).  Needs root for a
 * mount namespace of its own. */
#include "check.h"

#include <sched.h>
#include <sys/mount.h>

static int work(void)
{
	char *const sh[] = { (char *)"/bin/sh", (char *)"-c",
			     (char *)"read line <file; echo $line; exit 3", NULL };
	SHOW(access("/proc/self", F_OK));
	show_file("file");
	SHOW(rename("file", "renamed"));
	SHOW(rename("renamed", "file"));
	show_run("shell", sh);
	SHOW(system("cat file"));
	return 2;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return work();
	(void)argv;
	dup2(1, 2);
	self();
	write_file("file", "the file\n", 0644);
	if (unshare(CLONE_NEWNS) != 0)
		skip("no mount namespace of one's own: %s", strerror(errno));
	CHECK(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	if (umount2("/proc", MNT_DETACH) != 0)
		skip("/proc cannot be unmounted: %s", strerror(errno));
	work();
	show_self("a new program");
	return 0;
}
