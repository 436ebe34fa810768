/* A trapped call that waits for its answer: see exchange.h. */
#include "shim/supervise/exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>

int exchange_ask(int listener, unsigned long request, void *data)
{
	int result;

	do
		result = ioctl(listener, request, data);
	while (result < 0 && errno == EINTR);
	return result < 0 ? -errno : result;
}

bool exchange_is_valid(const struct exchange *exchange)
{
	uint64_t id = exchange->call->id;
	return exchange_ask(exchange->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
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
	int number = exchange_ask(exchange->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
	if (number < 0)
		return number;
	struct seccomp_notif_resp answer = { .id = exchange->call->id, .val = number };
	int error = exchange_ask(exchange->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	return error < 0 ? error : number;
}
