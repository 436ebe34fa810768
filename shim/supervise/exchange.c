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

int exchange_add(const struct exchange *exchange, int fd, bool close_on_exec)
{
	struct seccomp_notif_addfd add = {
		.id = exchange->call->id,
		.flags = SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (uint32_t)fd,
		.newfd_flags = close_on_exec ? O_CLOEXEC : 0,
	};
	int number = ioctl(exchange->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
	return number < 0 ? -errno : number;
}
