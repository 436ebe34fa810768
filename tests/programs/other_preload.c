/* Hazards: another preloaded library whose constructor opens and reads before ours ran, and whose destructor does so
 * after everything; LD_PRELOAD already set: its entries and their order stay, and both libraries take their turn. */
#include "check.h"

/* The directory of the libraries of tests/programs/lib: beside this program. */
static void library(const char *name, char *ret_path, size_t capacity)
{
	CHECK((size_t)snprintf(ret_path, capacity, "%.*s/%s.so",
			       (int)(strrchr(self(), '/') - self()), self(), name) < capacity);
	CHECK(access(ret_path, R_OK) == 0);
}

/* Prints the entries of LD_PRELOAD that are from this directory. */
static void show_preload(void)
{
	char *copy = strdup(getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : ""), *rest = copy;
	printf("preloaded:");
	for (char *word; (word = strsep(&rest, ": ")) != NULL;)
		if (strncmp(word, self(), (size_t)(strrchr(self(), '/') - self())) == 0)
			printf(" %s", strrchr(word, '/') + 1);
	printf("\n");
	fflush(stdout);
	free(copy);
}

static void work(void)
{
	char bytes[10];
	show_preload();
	int fd = open("early", O_RDWR | O_CREAT, 0644);
	CHECK(fd >= 0 && read(fd, bytes, sizeof(bytes)) >= 0 && close(fd) == 0);
	SHOW(open("missing", O_RDONLY));
}

static void with(const char *what, const char *preload)
{
	printf("-- %s\n", what);
	CHECK(setenv("LD_PRELOAD", preload, 1) == 0);
	show_self("work");
	show_self("start");
}

int main(int argc, char **argv)
{
	char early[4096], counter[4096], both[16384];
	const char *given = getenv("LD_PRELOAD");
	char *kept = strdup(given ? given : "");

	dup2(1, 2);
	if (argc > 1 && strcmp(argv[1], "start") == 0) {
		show_self("work");
		return 0;
	}
	if (argc > 1) {
		work();
		return 0;
	}
	library("early_opener", early, sizeof(early));
	library("counter", counter, sizeof(counter));
	snprintf(both, sizeof(both), "%s:%s", early, kept);
	with("in front", both);
	snprintf(both, sizeof(both), "%s:%s", kept, early);
	with("behind", both);
	snprintf(both, sizeof(both), "%s %s %s", counter, kept, early);
	with("around, spaces between", both);
	snprintf(both, sizeof(both), "%s:%s:%s", early, counter, kept);
	with("two in front", both);
	snprintf(both, sizeof(both), "%s:%s:%s", kept, counter, early);
	with("two behind", both);
	with("without what was there", early);
	with("empty", "");
	free(kept);
	return 0;
}
