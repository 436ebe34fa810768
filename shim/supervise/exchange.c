/* A trapped call that waits for its answer: see exchange.h. */
#include "shim/supervise/exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>

bool exchange_is_valid(const struct exchange *exchange)
{
	uint64_t id = exchange->call->id;
	return ioctl(exchange->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* In two steps: SECCOMP_ADDFD_FLAG_SEND marks the call as answered before the process has taken the
 * descriptor.  A supervisor that is killed in between would leave it with 0, and it would read its
 * standard input.  Of these steps each leaves a call that still waits, which the guardian lets
 * pass. */
int exchange_add(const struct exchange *exchange, int fd, bool close_on_exec)
{
	struct seccomp_notif_addfd add = {
		.id = exchange->call->id,
		.srcfd = (uint32_t)fd,
		.newfd_flags = close_on_exec ? O_CLOEXEC : 0,
	};
	int number = ioctl(exchange->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
	if (number < 0)
		return -errno;
	struct seccomp_notif_resp answer = { .id = exchange->call->id, .val = number };
	return ioctl(exchange->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) < 0 ? -errno : number;
}
