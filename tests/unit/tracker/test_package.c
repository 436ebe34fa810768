/* tracker/process/package: which programs belong to one package of npm. */
#include <criterion/criterion.h>

#include "tracker/process/package.h"

#define AT "/usr/lib/node_modules/"

Test(package, one_package)
{
	cr_expect(package_is_same(AT "kilo/bin/kilo.js", AT "kilo/vendor/engine"));
	cr_expect(package_is_same(AT "@kilocode/cli/bin/kilo", AT "@kilocode/cli/bin/.kilo"));
	cr_expect(package_is_same(AT "a/node_modules/b/x", AT "a/node_modules/b/y"));
}

Test(package, one_for_a_machine)
{
	cr_expect(package_is_same(AT "@kilocode/cli/bin/kilo", AT "@kilocode/cli-linux-x64/bin/k"));
	cr_expect(package_is_same(AT "@kilocode/cli/bin/kilo",
				  AT "@kilocode/cli/node_modules/@kilocode/cli-linux-x64/bin/k"));
}

Test(package, another_package)
{
	cr_expect_not(package_is_same(AT "kilo/bin/kilo.js", AT "kilometer/bin/engine"));
	cr_expect_not(package_is_same(AT "kilo/bin/kilo.js", AT "other/bin/engine"));
	cr_expect_not(package_is_same(AT "kilo/x", AT "kilo/node_modules/left-pad/engine"));
	cr_expect_not(package_is_same(AT "@a/cli/x", AT "@b/cli/engine"));
	cr_expect_not(package_is_same(AT "kilo/x", "/work/node_modules/kilo/engine"));
	cr_expect_not(package_is_same("/usr/bin/kilo", "/usr/bin/engine"));
	cr_expect_not(package_is_same(AT "kilo", AT "kilo"));
	cr_expect_not(package_is_same(AT, AT));
	cr_expect_not(package_is_same(AT "@a", AT "@a"));
	cr_expect_not(package_is_same(AT ".bin/kilo", AT ".bin/engine"));
}
