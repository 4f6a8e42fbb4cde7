/* One function a command; argv[0] is the command's name. Returns the exit status. */
#ifndef SLUICE_CMD_COMMANDS_H
#define SLUICE_CMD_COMMANDS_H

int cmd_run(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_task(int argc, char **argv);
int cmd_work(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_why(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_head(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_gc(int argc, char **argv);
int cmd_test(int argc, char **argv);

#endif
