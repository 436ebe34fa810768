/* Receivers: see receiver.h. */
#include "tracker/process/receiver.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>

#include "tracker/path/decimal.h"
#include "tracker/process/ancestors.h"
#include "tracker/process/capture.h"
#include "tracker/process/identity.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/process.h"
#include "tracker/sys/sys.h"

enum {
	ANCESTORS_MAX = 64,     /* levels of /proc walked */
	DESCRIPTORS_MAX = 4096, /* inspected for one answer, of all processes */
	LINK_BYTES = 128,
};

/* What a process that reads the capture has open. */
struct channel {
	uint32_t kind;            /* enum capture_kind */
	char link[64];            /* of a pipe, a socket: what its descriptors' links say */
	uint64_t index;           /* of a terminal */
	struct identity identity; /* of a file */
	unsigned inspected;       /* descriptors, up to now */
};

/* The processes from the subject up to the agent. */
struct line_up {
	unsigned count;
	unsigned shell;  /* of these: the capture's shell */
	unsigned agents; /* ... from here on: the agent, and what of its image lies between */
	uint32_t pids[ANCESTORS_MAX];
};

enum holds { HOLDS_NOT, HOLDS, HOLDS_UNKNOWN };

/* Finds the line from the subject up to the agent.  False: it is none, or the shell is not in
 * it. */
static bool find_line(struct subject subject, const struct context *context, uint32_t shell_pid,
		      struct line_up *ret_line)
{
	uint32_t pid = subject_pid(subject);
	bool is_above_shell = false;

	ret_line->count = ret_line->shell = ret_line->agents = 0;
	for (int level = 0; level < ANCESTORS_MAX && pid > 0; level++) {
		ret_line->pids[ret_line->count++] = pid;
		if (pid == context->anchor_pid) {
			/* The shell is never the agent itself. */
			if (is_above_shell && !ret_line->agents)
				ret_line->agents = ret_line->count - 1;
			return is_above_shell;
		}
		if (is_above_shell && !process_same_image(pid, context->anchor_pid))
			ret_line->agents = 0;
		else if (is_above_shell && !ret_line->agents)
			ret_line->agents = ret_line->count - 1;
		if (pid == shell_pid)
			ret_line->shell = ret_line->count - 1;
		is_above_shell = is_above_shell || pid == shell_pid;
		pid = level == 0 ? subject_parent(subject) : process_parent_of(pid);
	}
	return false;
}

/* The inode of a socket's peer (sock_diag(7)); 0: it has none.  Returns 0 or a negative errno:
 * -ENOENT for a socket of another network namespace, too. */
static int find_peer(uint64_t socket_ino, uint64_t *ret_peer_ino)
{
	struct {
		struct nlmsghdr head;
		struct unix_diag_req request;
	} question = {
		.head = { .nlmsg_len = sizeof(question),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST },
		.request = { .sdiag_family = AF_UNIX,
			     .udiag_states = UINT32_MAX,
			     .udiag_ino = (uint32_t)socket_ino,
			     .udiag_show = UDIAG_SHOW_PEER,
			     .udiag_cookie = { UINT32_MAX, UINT32_MAX } },
	};
	_Alignas(struct nlmsghdr) char answer[512];
	const struct nlmsghdr *head = (const struct nlmsghdr *)answer;
	uint64_t peer_ino = 0;

	if (socket_ino > UINT32_MAX)
		return -EOVERFLOW;
	int fd = (int)sys_call3(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (fd < 0)
		return fd;
	long count = sys_call6(SYS_sendto, fd, (long)&question, sizeof(question), MSG_NOSIGNAL, 0,
			       0);
	/* The kernel has answered when that returns. */
	if (count >= 0)
		count = sys_call6(SYS_recvfrom, fd, (long)answer, sizeof(answer), MSG_DONTWAIT, 0,
				  0);
	(void)sys_close(fd);
	if (count < 0)
		return (int)count;
	if ((size_t)count < NLMSG_LENGTH(sizeof(struct unix_diag_msg)) ||
	    head->nlmsg_len > (size_t)count || head->nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return -ENOENT;
	const struct unix_diag_msg *message = NLMSG_DATA(head);
	if (message->udiag_family != AF_UNIX || message->udiag_ino != (uint32_t)socket_ino)
		return -ENOENT;
	size_t left = head->nlmsg_len - NLMSG_LENGTH(sizeof(*message));
	const char *at = (const char *)message + NLMSG_ALIGN(sizeof(*message));
	while (left >= sizeof(struct rtattr)) {
		const struct rtattr *attribute = (const struct rtattr *)at;
		size_t step = RTA_ALIGN(attribute->rta_len);
		uint32_t ino;
		if (attribute->rta_len < sizeof(*attribute) || attribute->rta_len > left)
			break;
		if (attribute->rta_type == UNIX_DIAG_PEER &&
		    attribute->rta_len >= RTA_LENGTH(sizeof(ino))) {
			memcpy(&ino, RTA_DATA(attribute), sizeof(ino));
			peer_ino = ino;
		}
		if (step >= left)
			break;
		at += step;
		left -= step;
	}
	*ret_peer_ino = peer_ino;
	return 0;
}

/* "pipe:[INO]" or "socket:[INO]". */
static void write_link(struct channel *end, const char *kind, uint64_t ino)
{
	size_t bytes = strlen(kind);

	memcpy(end->link, kind, bytes);
	end->link[bytes++] = ':';
	end->link[bytes] = '[';
	char *at = decimal_write(end->link + bytes + 1, ino);
	*at++ = ']';
	*at = '\0';
}

/* What the reader of a capture has open.  False: nothing that could be found; *ret_receiver says
 * what that means. */
static bool find_channel(const struct capture_slot *capture, struct channel *ret_end,
			 enum receiver *ret_receiver)
{
	enum { PTY_MINORS = 256 };
	unsigned device = major(capture->identity.rdev);
	uint64_t peer_ino = 0;

	ret_end->kind = capture->kind;
	ret_end->identity = capture->identity;
	ret_end->inspected = 0;
	switch (capture->kind) {
	case CAPTURE_PIPE:
		write_link(ret_end, "pipe", capture->identity.ino);
		return true;
	case CAPTURE_SOCKET:
		*ret_receiver = RECEIVER_UNKNOWN;
		if (find_peer(capture->identity.ino, &peer_ino) < 0)
			return false;
		*ret_receiver = RECEIVER_OTHER;
		write_link(ret_end, "socket", peer_ino);
		return peer_ino != 0;
	case CAPTURE_TERMINAL:
		*ret_receiver = RECEIVER_OTHER; /* a console has no master */
		if (device < MAJOR_PTY_SLAVE_FIRST || device > MAJOR_PTY_SLAVE_LAST)
			return false;
		ret_end->index = (uint64_t)(device - MAJOR_PTY_SLAVE_FIRST) * PTY_MINORS +
				 minor(capture->identity.rdev);
		return true;
	case CAPTURE_FILE:
	case CAPTURE_UNLINKED:
		return true;
	default: /* damaged */
		*ret_receiver = RECEIVER_OTHER;
		return false;
	}
}

/* A line of fdinfo (proc(5)): the number behind a name; false: there is none. */
static bool parse_field(const char *text, const char *name, unsigned base, uint64_t *ret_value)
{
	const char *at = strstr(text, name);
	uint64_t value = 0;

	if (!at)
		return false;
	for (at += strlen(name); *at == '\t' || *at == ' '; at++)
		;
	if (*at < '0' || (unsigned)(*at - '0') >= base)
		return false;
	for (; *at >= '0' && (unsigned)(*at - '0') < base && value < UINT64_MAX / 16; at++)
		value = value * base + (unsigned)(*at - '0');
	*ret_value = value;
	return true;
}

/* A descriptor that leads to what is looked for: is it the reading end?  starts: the process has
 * not run its program yet: what it will not have then does not count. */
static enum holds reads(uint32_t pid, const char *name, const struct channel *end, bool starts)
{
	char path[PROC_PATH_BYTES], text[512];
	uint64_t flags, index;

	proc_path(pid, "fdinfo/", path);
	size_t length = strlen(path);
	if (length + strlen(name) >= sizeof(path))
		return HOLDS_UNKNOWN;
	memcpy(path + length, name, strlen(name) + 1);
	ssize_t count = sys_read_file(path, text, sizeof(text));
	if (count == -ENOENT || count == -ESRCH)
		return HOLDS_NOT; /* closed meanwhile */
	if (count < 0 || !parse_field(text, "flags:", 8, &flags))
		return HOLDS_UNKNOWN;
	if (starts && (flags & O_CLOEXEC))
		return HOLDS_NOT;
	if (end->kind == CAPTURE_TERMINAL)
		return !parse_field(text, "tty-index:", 10, &index) ? HOLDS_UNKNOWN
		       : index == end->index                        ? HOLDS
								    : HOLDS_NOT;
	if (end->kind == CAPTURE_SOCKET)
		return HOLDS;
	return (flags & O_ACCMODE) == O_WRONLY ? HOLDS_NOT : HOLDS;
}

/* Does what a descriptor leads to look like what is looked for?  directory: /proc/PID/fd. */
static bool leads_there(int directory, const char *name, const struct channel *end)
{
	char link[LINK_BYTES];
	struct stat stat;
	ssize_t length = sys_call6(SYS_readlinkat, directory, (long)name, (long)link,
				   sizeof(link) - 1, 0, 0);

	if (length <= 0)
		return false;
	link[length] = '\0';
	switch (end->kind) {
	case CAPTURE_TERMINAL:
		return length >= 5 && link[0] == '/' && strcmp(link + length - 5, "/ptmx") == 0;
	case CAPTURE_FILE:
	case CAPTURE_UNLINKED:
		return link[0] == '/' &&
		       sys_fstatat(directory, name, &stat, AT_NO_AUTOMOUNT) == 0 &&
		       stat.st_dev == end->identity.dev && stat.st_ino == end->identity.ino;
	default:
		return strcmp(link, end->link) == 0;
	}
}

/* Has a process the reading end open? */
static enum holds process_holds(uint32_t pid, struct channel *end, bool starts)
{
	_Alignas(struct sys_entry) char entries[1024];
	char path[PROC_PATH_BYTES];
	enum holds found = HOLDS_NOT;
	ssize_t count;

	proc_path(pid, "fd", path);
	int directory = sys_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (directory == -ENOENT || directory == -ESRCH)
		return HOLDS_NOT; /* it has ended */
	if (directory < 0)
		return HOLDS_UNKNOWN;
	while ((count = sys_getdents64(directory, entries, sizeof(entries))) > 0 &&
	       found != HOLDS) {
		for (ssize_t at = 0; at < count && found != HOLDS;) {
			const struct sys_entry *entry = (const struct sys_entry *)(entries + at);
			at += entry->size_bytes;
			if (entry->name[0] == '.')
				continue;
			if (end->inspected++ >= DESCRIPTORS_MAX) {
				(void)sys_close(directory);
				return HOLDS_UNKNOWN;
			}
			if (leads_there(directory, entry->name, end)) {
				enum holds holds = reads(pid, entry->name, end, starts);
				if (holds != HOLDS_NOT)
					found = holds;
			}
		}
	}
	(void)sys_close(directory);
	return count < 0 && count != -ENOENT && found != HOLDS ? HOLDS_UNKNOWN : found;
}

/* Has one of the processes between the shell and the agent the reading end, which passes the command on and should
 * pass its output on, too? */
static enum holds between_hold(const struct line_up *line, struct channel *end)
{
	enum holds holds = HOLDS_NOT;

	for (unsigned i = line->shell + 1; i < line->agents && holds == HOLDS_NOT; i++)
		holds = process_holds(line->pids[i], end, false);
	return holds;
}

static bool is_in_line(const struct line_up *line, uint32_t pid)
{
	for (unsigned i = 0; i < line->count; i++)
		if (line->pids[i] == pid)
			return true;
	return false;
}

/* Has another process of the session, that is not below the capture, the reading end? */
static enum holds others_hold(const struct segment *segment, const struct capture_slot *capture,
			      const struct line_up *line, struct channel *end)
{
	struct process_slot process;
	uint64_t index = 0;

	while (process_next(segment, &index, &process)) {
		if (!process.pid || process.context.capture_id == capture->id ||
		    is_in_line(line, process.pid) ||
		    sys_call3(SYS_kill, (long)process.pid, 0, 0) == -ESRCH)
			continue;
		enum holds holds = process_holds(process.pid, end,
						 process.state == PROCESS_ANNOUNCED);
		if (holds == HOLDS_UNKNOWN && process_is_gone(&process))
			holds = HOLDS_NOT; /* the number is a stranger's by now */
		if (holds != HOLDS_NOT)
			return holds;
	}
	return HOLDS_NOT;
}

/* Who reads the stream that a capture's slot describes, in a process below that capture. */
static enum receiver find_receiver(const struct segment *segment, struct subject subject,
				   const struct context *context,
				   const struct capture_slot *capture, uint64_t pid_ns)
{
	enum receiver receiver = RECEIVER_OTHER;
	enum holds holds = HOLDS_NOT;
	struct line_up line;
	struct channel end;

	if ((pid_ns ? pid_ns : process_pid_ns()) != context->pid_ns)
		return RECEIVER_UNKNOWN;
	if (!find_line(subject, context, capture->shell_pid, &line))
		return RECEIVER_OTHER;
	if (!find_channel(capture, &end, &receiver))
		return receiver;
	for (unsigned i = line.agents; i < line.count && holds != HOLDS; i++) {
		enum holds one = process_holds(line.pids[i], &end, false);
		if (one != HOLDS_NOT)
			holds = one;
	}
	if (holds == HOLDS_UNKNOWN)
		return RECEIVER_UNKNOWN;
	/* A spool file is opened to be inspected, and closed. */
	if (holds != HOLDS && capture->kind != CAPTURE_FILE)
		return RECEIVER_OTHER;
	holds = between_hold(&line, &end);
	if (holds == HOLDS_NOT)
		holds = others_hold(segment, capture, &line, &end);
	switch (holds) {
	case HOLDS_NOT:
		return RECEIVER_AGENT;
	case HOLDS:
		return RECEIVER_OTHER;
	default:
		return RECEIVER_UNKNOWN;
	}
}

enum receiver receiver_find(const struct segment *segment, struct subject subject,
			    const struct context *context, uint64_t pid_ns)
{
	struct capture_slot capture;

	if (!capture_find(segment, context->capture_id, &capture) || !context->anchor_pid ||
	    !context->pid_ns)
		return RECEIVER_OTHER;
	if (context->flags & CONTEXT_EXTERNAL_AGENT)
		return process_anchor_alive_in(subject, context, capture.shell_pid, pid_ns)
			       ? RECEIVER_AGENT
			       : RECEIVER_OTHER;
	return find_receiver(segment, subject, context, &capture, pid_ns);
}

enum receiver receiver_find_of_errors(const struct segment *segment, struct subject subject,
				      const struct context *context, const struct stat *errors,
				      uint64_t pid_ns)
{
	struct identity identity = identity_of(errors);
	struct capture_slot capture;

	if (!capture_find(segment, context->capture_id, &capture) || !context->anchor_pid ||
	    !context->pid_ns)
		return RECEIVER_OTHER;
	if (context->flags & CONTEXT_EXTERNAL_AGENT)
		return RECEIVER_UNKNOWN;
	if (!identity_equal(&identity, &capture.identity)) {
		capture.identity = identity;
		capture.kind = S_ISFIFO(errors->st_mode)    ? CAPTURE_PIPE
			       : S_ISSOCK(errors->st_mode)  ? CAPTURE_SOCKET
			       : is_terminal_device(errors) ? CAPTURE_TERMINAL
							    : 0;
	}
	return find_receiver(segment, subject, context, &capture, pid_ns);
}
