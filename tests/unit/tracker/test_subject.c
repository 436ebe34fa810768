/* subject.h: what is asked of another process is what that process would learn about itself. */
#include <criterion/criterion.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "support.h"
#include "tracker/process/subject.h"

enum { FD = 1 };

/* All that can be asked. */
struct seen {
	uint32_t pid, parent;
	int error;
	struct stat stat;
	int flags;
	uint64_t creation_ns;
	ssize_t length;
	char link[200];
};

static void ask(struct subject subject, struct seen *ret_seen)
{
	memset(ret_seen, 0, sizeof(*ret_seen));
	ret_seen->pid = subject_pid(subject);
	ret_seen->parent = subject_parent(subject);
	ret_seen->error = subject_stat(subject, FD, &ret_seen->stat);
	ret_seen->flags = subject_flags(subject, FD);
	ret_seen->creation_ns = subject_creation_ns(subject, FD);
	ret_seen->length = subject_link(subject, FD, ret_seen->link, sizeof(ret_seen->link));
}

/* A child makes `fd` its descriptor 1 (-1: closes that), and both are asked about the child. */
static void ask_both(int fd, int flags, struct seen *ret_self, struct seen *ret_other)
{
	int report[2];

	must(pipe2(report, O_CLOEXEC) == 0);
	(void)fflush(NULL);
	pid_t pid = fork();
	must(pid >= 0);
	if (pid == 0) {
		struct seen seen;
		must(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
		must(fd < 0 ? close(FD) == 0 : dup3(fd, FD, flags) == FD);
		ask(SUBJECT_SELF, &seen);
		must(write(report[1], &seen, sizeof(seen)) == (ssize_t)sizeof(seen));
		for (;;)
			(void)pause();
	}
	must(close(report[1]) == 0);
	must(read(report[0], ret_self, sizeof(*ret_self)) == (ssize_t)sizeof(*ret_self));
	ask((struct subject){ (uint32_t)pid }, ret_other);
	must(ret_other->pid == (uint32_t)pid && ret_other->parent == (uint32_t)getpid());
	must(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
	must(close(report[0]) == 0 && (fd < 0 || close(fd) == 0));
}

static void assert_same(const struct seen *self, const struct seen *other)
{
	cr_assert_eq(self->pid, other->pid);
	cr_assert_eq(self->parent, other->parent);
	cr_assert_eq(self->error, other->error);
	cr_assert_eq(self->stat.st_dev, other->stat.st_dev);
	cr_assert_eq(self->stat.st_ino, other->stat.st_ino);
	cr_assert_eq(self->stat.st_rdev, other->stat.st_rdev);
	cr_assert_eq(self->stat.st_mode, other->stat.st_mode);
	cr_assert_eq(self->stat.st_nlink, other->stat.st_nlink);
	cr_assert_eq(self->stat.st_size, other->stat.st_size);
	cr_assert_eq(self->flags, other->flags);
	cr_assert_eq(self->creation_ns, other->creation_ns);
	cr_assert_eq(self->length, other->length);
	cr_assert_str_eq(self->link, other->link);
}

Test(subject, pipe)
{
	struct seen self, other;
	int pipes[2];

	must(pipe2(pipes, O_NONBLOCK) == 0);
	ask_both(pipes[1], 0, &self, &other);
	assert_same(&self, &other);
	cr_assert(S_ISFIFO(other.stat.st_mode));
	cr_assert_eq(other.flags & ~O_LARGEFILE, O_WRONLY | O_NONBLOCK);
	cr_assert_eq(strncmp(other.link, "pipe:[", 6), 0);
}

Test(subject, socket)
{
	struct seen self, other;
	int sockets[2];

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	ask_both(sockets[1], 0, &self, &other);
	assert_same(&self, &other);
	cr_assert(S_ISSOCK(other.stat.st_mode));
}

Test(subject, file)
{
	struct seen self, other;
	char path[] = "/tmp/seen-subject-XXXXXX";

	int fd = mkstemp(path);
	must(fd >= 0 && write(fd, "12345", 5) == 5 && close(fd) == 0);
	/* close-on-exec is one of the descriptor, which F_GETFL does not tell */
	ask_both(open(path, O_WRONLY | O_APPEND), O_CLOEXEC, &self, &other);
	assert_same(&self, &other);
	cr_assert_eq(other.stat.st_size, 5);
	cr_assert_eq(other.flags & (O_ACCMODE | O_APPEND | O_CLOEXEC), O_WRONLY | O_APPEND);
	cr_assert_str_eq(other.link, path);
	ask_both(open(path, O_RDONLY), 0, &self, &other);
	assert_same(&self, &other);
	cr_assert_eq(other.flags & (O_ACCMODE | O_APPEND), O_RDONLY);
	/* Removed, another of its name: what is open counts. */
	fd = open(path, O_RDONLY);
	must(unlink(path) == 0);
	must(close(open(path, O_WRONLY | O_CREAT, 0600)) == 0);
	ask_both(fd, 0, &self, &other);
	must(unlink(path) == 0);
	assert_same(&self, &other);
	cr_assert_eq(other.stat.st_nlink, 0);
}

Test(subject, closed)
{
	struct seen self, other;

	ask_both(-1, 0, &self, &other);
	cr_assert_eq(self.error, -EBADF);
	cr_assert_eq(self.flags, -EBADF);
	cr_assert_eq(other.error, -ENOENT);
	cr_assert_eq(other.flags, -ENOENT);
	cr_assert_eq(self.creation_ns, 0);
	cr_assert_eq(other.creation_ns, 0);
	cr_assert_eq(self.length, -ENOENT);
	cr_assert_eq(other.length, -ENOENT);
}

Test(subject, no_process)
{
	struct seen seen;

	ask((struct subject){ 4194305 }, &seen); /* beyond every pid_max */
	cr_assert_eq(seen.pid, 4194305);
	cr_assert_eq(seen.parent, 0);
	cr_assert_eq(seen.error, -ENOENT);
	cr_assert_eq(seen.flags, -ENOENT);
	cr_assert_eq(seen.length, -ENOENT);
}

Test(subject, link_that_fits_and_one_that_does_not)
{
	char path[] = "/tmp/seen-subject-XXXXXX", link[sizeof(path) + 1];
	int fd = mkstemp(path);
	must(fd >= 0 && unlink(path) == 0 && close(fd) == 0);
	must((fd = open(path, O_WRONLY | O_CREAT, 0600)) >= 0);
	cr_assert_eq(subject_link(SUBJECT_SELF, fd, link, sizeof(link)), sizeof(path) - 1);
	cr_assert_str_eq(link, path);
	cr_assert_eq(subject_link(SUBJECT_SELF, fd, link, sizeof(link) - 1), -ENAMETOOLONG);
	must(unlink(path) == 0 && close(fd) == 0);
	cr_assert_eq(subject_link(SUBJECT_SELF, -1, link, sizeof(link)), -ENOENT);
}

/* The name that a descriptor's file has now, or an error. */
static ssize_t name_of(const char *path, const char *now, char *ret_name)
{
	int fd = open(path, O_RDONLY | O_CREAT, 0600), other;

	must(fd >= 0);
	if (now && !now[0])
		must(unlink(path) == 0);
	if (now && now[0]) {
		must((other = open(now, O_WRONLY | O_CREAT, 0600)) >= 0 && close(other) == 0);
		must(rename(now, path) == 0);
	}
	ssize_t length = subject_name(SUBJECT_SELF, fd, ret_name, 200);
	must(close(fd) == 0);
	return length;
}

Test(subject, a_name_that_is_lost)
{
	char top[] = "/tmp/seen-subject-XXXXXX", path[64], marked[80], name[200];
	int ends[2];

	must(mkdtemp(top) != NULL);
	(void)snprintf(path, sizeof(path), "%s/f", top);
	(void)snprintf(marked, sizeof(marked), "%s/f (deleted)", top);
	cr_expect_eq(name_of(path, NULL, name), (ssize_t)strlen(path));
	cr_expect_str_eq(name, path);
	cr_expect_eq(name_of(path, "", name), -ENOENT);
	cr_expect_eq(name_of(path, marked, name), -ENOENT);
	cr_expect_eq(name_of(marked, NULL, name), (ssize_t)strlen(marked));
	cr_expect_str_eq(name, marked);
	cr_expect_eq(name_of(path, "", name), -ENOENT); /* beside one whose name ends so */
	cr_expect_eq(name_of(marked, "", name), -ENOENT);
	must(pipe(ends) == 0);
	cr_expect_gt(subject_name(SUBJECT_SELF, ends[0], name, sizeof(name)), 0);
	cr_expect_eq(subject_name(SUBJECT_SELF, -1, name, sizeof(name)), -ENOENT);
	must(close(ends[0]) == 0 && close(ends[1]) == 0 && rmdir(top) == 0);
}
