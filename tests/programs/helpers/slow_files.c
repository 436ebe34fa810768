/* slow_files DIRECTORY: a file system (FUSE) with the files f0, f1 ... of 8 KiB, served in the foreground by one thread that takes its
 * time and opens a file of its own for each request.  Exits by 77 where it may not be mounted. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE_BYTES = 8192, REQUEST_BYTES = 1 << 20 };

static int device;

static void reply(uint64_t unique, int error, const void *payload, size_t bytes)
{
	char message[sizeof(struct fuse_out_header) + SIZE_BYTES];
	struct fuse_out_header header = { .len = (uint32_t)(sizeof(header) + bytes),
					  .error = error,
					  .unique = unique };

	memcpy(message, &header, sizeof(header));
	if (bytes)
		memcpy(message + sizeof(header), payload, bytes);
	(void)!write(device, message, header.len);
}

static struct fuse_attr attributes(uint64_t node)
{
	struct fuse_attr attributes = { .ino = node, .nlink = 1, .mode = S_IFDIR | 0755 };

	if (node != FUSE_ROOT_ID) {
		attributes.mode = S_IFREG | 0755;
		attributes.size = SIZE_BYTES;
	}
	return attributes;
}

static void resolve_name(uint64_t unique, const char *name)
{
	struct fuse_entry_out entry = { .nodeid = 2 + strtoul(name + 1, NULL, 10) };

	(void)usleep(20000);
	entry.attr = attributes(entry.nodeid);
	if (name[0] == 'f')
		reply(unique, 0, &entry, sizeof(entry));
	else
		reply(unique, -ENOENT, NULL, 0);
}

static void answer(const struct fuse_in_header *request, const char *data)
{
	const void *payload = request + 1;
	uint64_t unique = request->unique;

	switch (request->opcode) {
	case FUSE_INIT: {
		const struct fuse_init_in *theirs = payload;
		struct fuse_init_out reply_to_init = { .major = 7,
						       .minor = 31,
						       .max_readahead = theirs->max_readahead,
						       .max_write = SIZE_BYTES,
						       .max_background = 12,
						       .congestion_threshold = 9 };
		reply(unique, 0, &reply_to_init, sizeof(reply_to_init));
		break;
	}
	case FUSE_LOOKUP:
		resolve_name(unique, payload);
		break;
	case FUSE_GETATTR: {
		struct fuse_attr_out out = { .attr = attributes(request->nodeid) };
		reply(unique, 0, &out, sizeof(out));
		break;
	}
	case FUSE_OPEN:
	case FUSE_OPENDIR: {
		struct fuse_open_out out = { .open_flags = FOPEN_DIRECT_IO };
		(void)usleep(20000);
		reply(unique, 0, &out, sizeof(out));
		break;
	}
	case FUSE_READ: {
		const struct fuse_read_in *read_in = payload;
		size_t at = read_in->offset < SIZE_BYTES ? read_in->offset : SIZE_BYTES;
		size_t bytes = SIZE_BYTES - at < read_in->size ? SIZE_BYTES - at : read_in->size;
		reply(unique, 0, data + at, bytes);
		break;
	}
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_ACCESS:
		reply(unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(unique, -ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static char data[SIZE_BYTES], request[REQUEST_BYTES];
	char options[128];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = i % 60 == 59 ? '\n' : (char)('a' + i % 26);
	device = open("/dev/fuse", O_RDWR);
	(void)snprintf(options, sizeof(options),
		       "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", device);
	if (argc != 2 || device < 0 || mount("slow_files", argv[1], "fuse.slow_files", 0, options))
		return 77;
	for (;;) {
		ssize_t bytes = read(device, request, sizeof(request));
		if (bytes < 0 && errno == EINTR)
			continue;
		if (bytes < (ssize_t)sizeof(struct fuse_in_header))
			return 0; /* unmounted */
		int own = open("/etc/passwd", O_RDONLY);
		if (own >= 0)
			(void)close(own);
		answer((const void *)request, data);
	}
}
