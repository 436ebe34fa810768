/*
 * The meeting with the supervisor, if there is one: shim/supervise/handshake.h.
 */
#include "shim/preload/handshake.h"

#include <link.h>
#include <string.h>

#include "shim/preload/real.h"
#include "shim/preload/state.h"
#include "shim/supervise/handshake.h"
#include "tracker/sys/sys.h"

static struct handshake handshake;

const char *gnu_get_libc_version(void) __attribute__((weak));
extern void *__tls_get_addr(void *index)
	__attribute__((weak)); /* the loader's: weak, to depend on libc alone */

/* The code that a loaded object may hold: all of its segments. */
static int add_object(struct dl_phdr_info *info, size_t size, void *data)
{
	const uint64_t *wanted = data; /* addresses, one of each object that is looked for */
	uint64_t from = UINT64_MAX, to = 0;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		if (part->p_type != PT_LOAD)
			continue;
		uint64_t begin = info->dlpi_addr + part->p_vaddr;
		from = begin < from ? begin : from;
		to = begin + part->p_memsz > to ? begin + part->p_memsz : to;
	}
	for (int i = 0; i < HANDSHAKE_CODE_RANGES; i++) {
		if (wanted[i] >= from && wanted[i] < to) {
			handshake.code[i].from = from;
			handshake.code[i].to = to;
		}
	}
	return 0;
}

static bool is_in_libc(uint64_t address)
{
	return address >= handshake.code[HANDSHAKE_LIBC].from &&
	       address < handshake.code[HANDSHAKE_LIBC].to;
}

int handshake_send(void)
{
	uint64_t mark = shim.segment.header->supervise_mark;
	/* libc and the loader by what they export, this library by its own data (attach.c looked
	 * whether that is glibc). */
	uint64_t addresses[HANDSHAKE_CODE_RANGES] = { (uint64_t)(uintptr_t)&gnu_get_libc_version,
						      (uint64_t)(uintptr_t)&__tls_get_addr,
						      (uint64_t)(uintptr_t)&handshake };

	if (!mark)
		return 0;
	handshake.size_bytes = sizeof(handshake);
	(void)dl_iterate_phdr(add_object, addresses);
	long answer = sys_call6(SYS_openat, AT_FDCWD, (long)&handshake, 0, 0, 0, (long)(mark + 1));
	shim.supervised = answer == HANDSHAKE_ATTACH;
	uint64_t next = (uint64_t)(uintptr_t)REAL(open), next64 = (uint64_t)(uintptr_t)REAL(open64);
	shim.opens_pass = shim.supervised && is_in_libc(next) && is_in_libc(next64);
	return answer == HANDSHAKE_ATTACH || answer == HANDSHAKE_STAY_OFF ? (int)answer : 0;
}

const char *handshake_ticket(void)
{
	if (!shim.supervised)
		return NULL;
	handshake.ticket[sizeof(handshake.ticket) - 1] = '\0';
	const char *value = strchr(handshake.ticket, '=');
	return value ? value + 1 : NULL;
}

void handshake_known(void)
{
	if (!shim.supervised) /* no supervisor inspects it */
		return;
	handshake.process = shim.process;
	handshake.record = shim.record;
}
