/*
 * A filter of system calls that refuses sockets, where Landlock alone confines: the network, and sockets in the
 * file system, which lead to processes that would read for the command.
 */
#ifndef SEEN_CLI_CONFINE_SOCKET_FILTER_H
#define SEEN_CLI_CONFINE_SOCKET_FILTER_H

#include <stdbool.h>

/* socket_filter_install(): in the calling process, for good; it needs no_new_privs.  What is refused
 * fails with EACCES; io_uring_setup(2), by which sockets are made past a filter, with ENOSYS.
 *
 * network: what leads to other machines is left; local: AF_UNIX is.  Both: nothing is installed.
 * Returns 0 or a negative errno. */
int socket_filter_install(bool network, bool local);

#endif
