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
static void add_object(const struct link_map *object, uint64_t address, int index)
{
	uint64_t from = UINT64_MAX, to = 0;

	if (!object || (uint64_t)(uintptr_t)object->l_ld <= object->l_addr)
		return;
	const ElfW(Ehdr) *head = (const void *)object->l_addr;
	if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
		return;
	const ElfW(Phdr) *parts = (const void *)(object->l_addr + head->e_phoff);
	for (unsigned i = 0; i < head->e_phnum; i++) {
		if (parts[i].p_type != PT_LOAD)
			continue;
		uint64_t begin = object->l_addr + parts[i].p_vaddr;
		from = begin < from ? begin : from;
		to = begin + parts[i].p_memsz > to ? begin + parts[i].p_memsz : to;
	}
	if (address >= from && address < to) {
		handshake.code[index].from = from;
		handshake.code[index].to = to;
	}
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
	for (int i = 0; i < HANDSHAKE_CODE_RANGES; i++)
		add_object(real_object_below(addresses[i]), addresses[i], i);
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
