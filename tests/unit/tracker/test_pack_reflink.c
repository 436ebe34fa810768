/*
 * pack_write.h, on a file system that shares copies (btrfs, xfs): FICLONE succeeds.
 *
 * There may be none here: a child's filter of system calls reports each FICLONE, and another process answers it, by a copy.
 */
#include <criterion/criterion.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "cli/undo/pack_reader.h"
#include "support.h"
#include "tracker/content/pack_find.h"
#include "tracker/content/pack_write.h"

enum { LARGE_BYTES = 200000 };

static struct world world;

/* Returns a descriptor by which FICLONE of this process is answered; -1: there are no such filters. */
static int report_clones(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FICLONE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &program);
}

static int open_of(uint32_t pid, uint64_t fd, int flags)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%u/fd/%llu", pid, (unsigned long long)fd);
	return open(path, flags | O_CLOEXEC);
}

/* Answers one. */
static void share(int listener)
{
	static char bytes[LARGE_BYTES + 1];
	struct seccomp_notif asked = { .id = 0 };

	must(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) == 0);
	int to = open_of(asked.pid, asked.data.args[0], O_WRONLY);
	int from = open_of(asked.pid, asked.data.args[2], O_RDONLY);
	ssize_t got = pread(from, bytes, sizeof(bytes), 0);
	must(got > 0 && pwrite(to, bytes, (size_t)got, 0) == got);
	struct seccomp_notif_resp answer = { .id = asked.id };
	must(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0);
}

/* In a child: the filter stays. */
static int keep_shared(const char *path)
{
	struct pack_note note = { .kind = PACK_CONTENT, .path = path };
	struct stat stat;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	must(fd >= 0 && fstat(fd, &stat) == 0);
	note.before.size_bytes = (uint64_t)stat.st_size;
	note.before.mode = stat.st_mode;
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	int listener = report_clones();
	if (listener < 0)
		return 77;
	pid_t other = fork();
	if (other == 0) {
		share(listener);
		_exit(0);
	}
	bool is_kept = pack_keep(&world.segment, &note, fd) != PACK_NO_PLACE;
	(void)kill(other, SIGKILL); /* nothing may have asked */
	(void)waitpid(other, NULL, 0);
	return is_kept ? 0 : 1;
}

Test(pack_reflink, a_shared_copy_takes_no_room_and_comes_back)
{
	struct pack_reader reader;
	struct pack_entry entry;
	struct content there;
	int status;

	world_open(&world, "undo.max_file_bytes=65536", "undo.reserve=0", NULL);
	world_fill(&world, "large", LARGE_BYTES, 3);
	const char *path = world_path(&world, "large");
	pid_t child = fork();
	if (child == 0)
		_exit(keep_shared(path));
	must(waitpid(child, &status, 0) == child && WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		cr_skip_test("no filter of system calls can be set here");
	cr_assert_eq(WEXITSTATUS(status), 0);

	/* the limit of copies does not hold for it, and it counts for none */
	cr_assert_eq(pack_reader_open(world.undo, &reader), 0);
	cr_assert_eq(pack_reader_next(&reader, &entry), 1);
	cr_assert_eq(entry.record.held, PACK_REFLINK);
	cr_assert_lt(world.segment.header->undo_bytes, 1000);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_undo), 0);
	int fd = pack_content_open(&reader, &entry.record);
	cr_assert(fd >= 0, "%d", fd);
	cr_assert_eq(content_of_descriptor(fd, UINT64_MAX, &there), 0);
	must(close(fd) == 0);
	pack_reader_close(&reader);

	/* its version is not on record: it is found all the same */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	struct content content;
	must(fd >= 0 && content_of_descriptor(fd, UINT64_MAX, &content) == 0 && close(fd) == 0);
	cr_assert(version_equal(&content.version, &there.version));
	fd = pack_find(&world.segment, &content.version);
	cr_assert(fd >= 0, "%d", fd);
	must(close(fd) == 0);
	world_close(&world);
}
