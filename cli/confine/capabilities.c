/* Capabilities: see capabilities.h. */
#include "cli/confine/capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KEPT(name) \
	{ \
		CAP_##name, "CAP_" #name \
	}

const struct capability CAPABILITIES_KEPT[] = {
	KEPT(CHOWN),  KEPT(DAC_OVERRIDE),     KEPT(FOWNER),
	KEPT(FSETID), KEPT(NET_BIND_SERVICE), { 0, NULL },
};

static int is_kept(unsigned number)
{
	for (size_t i = 0; CAPABILITIES_KEPT[i].name; i++)
		if (CAPABILITIES_KEPT[i].number == number)
			return 1;
	return 0;
}

int capabilities_drop(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	/* Without CAP_SETPCAP the bounding set stays; no_new_privs keeps a program from more, but root's. */
	for (unsigned number = 0; prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0; number++)
		if (!is_kept(number) && prctl(PR_CAPBSET_READ, number, 0, 0, 0) == 1 &&
		    prctl(PR_CAPBSET_DROP, number, 0, 0, 0) < 0 && errno != EPERM)
			return -errno;
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (unsigned number = 0; number < 32 * _LINUX_CAPABILITY_U32S_3; number++) {
		struct __user_cap_data_struct *part = &data[CAP_TO_INDEX(number)];
		if (is_kept(number))
			continue;
		part->effective &= ~CAP_TO_MASK(number);
		part->permitted &= ~CAP_TO_MASK(number);
		part->inheritable &= ~CAP_TO_MASK(number);
	}
	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}
