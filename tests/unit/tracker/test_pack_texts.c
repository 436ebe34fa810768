/* pack_texts.h: which record a path is named by. */
#include <criterion/criterion.h>

#include "support.h"
#include "tracker/content/pack.h"
#include "tracker/content/pack_texts.h"

Test(pack_texts, one_of_another_session_or_a_long_one_is_not_named)
{
	static char path[300] = "/directory/";
	struct world world, second;

	memset(path + strlen(path), 'x', sizeof(path) - strlen(path) - 1);
	world_open(&world, NULL);
	pack_texts_note(&world.segment, "/directory/f", 12, 4096, NULL);
	cr_assert_eq(pack_texts_find(&world.segment, "/directory/f", 12).place, 4096);
	cr_assert_eq(pack_texts_find(&world.segment, "/directory/g", 12).bytes, 11);
	cr_assert_eq(pack_texts_find(&world.segment, path, strlen(path)).place, PACK_NO_PLACE);
	cr_assert_eq(pack_texts_find(&world.segment, "", 0).place, PACK_NO_PLACE);
	world_open(&second, NULL);
	cr_assert_eq(pack_texts_find(&second.segment, "/directory/f", 12).place, PACK_NO_PLACE);
	world_close(&second);
	world_close(&world);
}
