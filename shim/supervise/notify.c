/* Calls and their answers: see notify.h. */
#include "shim/supervise/notify.h"

#include <errno.h>
#include <string.h>

#include "tracker/sys/sys.h"

int notify_read_sizes(size_t *ret_call)
{
	struct seccomp_notif_sizes sizes;
	long error = sys_call3(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, (long)&sizes);

	if (error < 0) /* EINVAL: not known to this kernel */
		return error == -EINVAL ? -ENOSYS : (int)error;
	if (sizes.seccomp_notif > NOTIFY_BYTES || sizes.seccomp_notif_resp > NOTIFY_BYTES)
		return -ENOSYS;
	*ret_call = sizes.seccomp_notif;
	return 0;
}

void notify_answer(int listener, uint64_t id, struct verdict verdict)
{
	_Alignas(8) unsigned char bytes[NOTIFY_BYTES];
	struct seccomp_notif_resp *response = (struct seccomp_notif_resp *)(void *)bytes;

	memset(bytes, 0, sizeof(bytes));
	response->id = id;
	switch (verdict.kind) {
	case VERDICT_ANSWERED:
		return;
	case VERDICT_PASS:
		response->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		break;
	case VERDICT_FAIL:
		response->error = (int32_t)verdict.value;
		break;
	case VERDICT_RETURN:
		response->val = verdict.value;
		break;
	}
	(void)exchange_ask(listener, SECCOMP_IOCTL_NOTIF_SEND, response);
}

int notify_receive(int listener, struct received *received, size_t call_bytes)
{
	memset(received->call, 0, call_bytes); /* the kernel requires it */
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, received->call) == 0 ? 0 : -errno;
}
