/* Hazard: bytes that move without read or write: mmap, mprotect, mremap, copy_file_range, sendfile, splice, tee, vmsplice, clones, aio,
 * directory reads.  They give what they give without the shim. */
#include "check.h"

#include <aio.h>
#include <dirent.h>
#include <ftw.h>
#include <glob.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static int visit(const char *path, const struct stat *stat, int type, struct FTW *where)
{
	(void)stat;
	(void)path;
	return type < 0 || where->level < 0;
}

int main(void)
{
	char bytes[64] = "";
	int ends[2], more[2];
	off_t offset = 4;

	write_file("file", "the file has bytes\n", 0644);
	int in = open("file", O_RDONLY), out = open("out", O_RDWR | O_CREAT, 0644);
	CHECK(pipe(ends) == 0 && pipe(more) == 0);
	char *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, in, 0);
	printf("%.18s\n", map);
	CHECK(munmap(map, 4096) == 0);
	map = mmap64(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, in, 0);
	map[0] = 'T';
	SHOW(munmap(map, 4096));
	SHOW(copy_file_range(in, NULL, out, NULL, 8, 0));
	SHOW(lseek(in, 0, SEEK_CUR));
	SHOW(sendfile(out, in, &offset, 4));
	SHOW(offset);
	SHOW(sendfile(out, in, NULL, 100));
	SHOW(splice(in, &offset, ends[1], NULL, 6, 0));
	SHOW(tee(ends[0], more[1], 100, 0));
	SHOW(read(more[0], bytes, sizeof(bytes)));
	SHOW(vmsplice(more[1], &(struct iovec){ bytes, 3 }, 1, 0));
	SHOW(read(ends[0], bytes, sizeof(bytes)));
	SHOW(splice(more[0], NULL, out, NULL, 3, 0));
	SHOW(ioctl(out, FICLONE, in) == 0 || errno != 0);
	SHOW(posix_fallocate(out, 0, 100));
	SHOW(ftruncate(out, 20));
	show_file("out");

	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, out, 0);
	SHOW(mprotect(map, 4096, PROT_READ | PROT_WRITE));
	map[0] = 'S';
	map = mremap(map, 4096, 8192, MREMAP_MAYMOVE);
	CHECK(map != MAP_FAILED);
	SHOW(pkey_mprotect(map, 8192, PROT_READ, -1));
	SHOW(syscall(SYS_mprotect, map, 4096L, (long)(PROT_READ | PROT_WRITE)));
	map[1] = 'T';
	SHOW(mprotect(map + 1, 4096, PROT_READ));
	SHOW(mprotect(NULL, 4096, PROT_READ | PROT_WRITE));
	SHOW(mremap(map, 8192, 4096, -1) == MAP_FAILED);
	map = (char *)syscall(SYS_mremap, map, 8192L, 16384L, (long)MREMAP_MAYMOVE);
	SHOW(munmap(map, 16384));
	show_file("out");

	struct aiocb control = {
		.aio_fildes = in, .aio_buf = bytes, .aio_nbytes = 5, .aio_offset = 4
	};
	const struct aiocb *const list[] = { &control };
	SHOW(aio_read(&control));
	SHOW(aio_suspend(list, 1, NULL));
	SHOW(aio_error(&control));
	SHOW(aio_return(&control));
	printf("%.5s\n", bytes);

	CHECK(mkdir("folder", 0755) == 0);
	write_file("folder/a", "", 0644);
	write_file("folder/b", "", 0644);
	struct dirent **entries;
	int count = scandir("folder", &entries, NULL, alphasort);
	for (int i = 0; i < count; i++)
		printf("%s\n", entries[i]->d_name);
	glob_t found;
	SHOW(glob("folder/*", 0, NULL, &found));
	printf("%zu\n", found.gl_pathc);
	SHOW(nftw("folder", visit, 10, 0));
	char *path = realpath("folder/../file", NULL);
	printf("%s\n", strrchr(path, '/'));
	return 0;
}
