/*
 * Input that a confined program makes for its terminal.
 *
 * What TIOCSTI or TIOCLINUX puts there is read by the shell of the user when the run is over, and runs
 * without any confinement (CVE-2017-5226; Linux from 6.2 on can forbid it: dev.tty.legacy_tiocsti).
 */
#ifndef SEEN_CLI_TERMINAL_FILTER_H
#define SEEN_CLI_TERMINAL_FILTER_H

/* terminal_filter_install(): both fail with EPERM from now on, in this process and all that it starts.
 *
 * The process has no_new_privs.  Returns 0; a negative errno: seccomp(2) is not to be had. */
int terminal_filter_install(void);

#endif
