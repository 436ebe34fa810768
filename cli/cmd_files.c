#include "cli/command.h"
int cmd_files(int argc,char**argv){(void)argc;(void)argv;return 0;}
