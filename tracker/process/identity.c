/* Which file it is: see identity.h. */
#include "tracker/process/identity.h"

struct identity identity_of(const struct stat *stat)
{
	return (struct identity){ stat->st_dev, stat->st_ino, stat->st_rdev };
}

bool identity_equal(const struct identity *a, const struct identity *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->rdev == b->rdev;
}
