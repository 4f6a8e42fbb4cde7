/* One function a command; argv[0] is the command's name. Returns the exit status. */
#ifndef SLUICE_CMD_COMMANDS_H
#define SLUICE_CMD_COMMANDS_H

int cmd_run(int argc, char **argv);
int cmd_prepare(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_task(int argc, char **argv);
int cmd_work(int argc, char **argv);
int cmd_stop(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_why(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_head(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_gc(int argc, char **argv);
int cmd_datasets(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_tag(int argc, char **argv);
int cmd_retain(int argc, char **argv);
int cmd_bench_format(int argc, char **argv);
int cmd_compact(int argc, char **argv);
int cmd_repro(int argc, char **argv);
int cmd_remove(int argc, char **argv);
int cmd_test(int argc, char **argv);
int cmd_test_plugin(int argc, char **argv);

/* Body of the hidden command KIT_CHILD: one check of test-plugin. */
int conform_child(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_sample(int argc, char **argv);
int cmd_try(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_label(int argc, char **argv);
int cmd_lock(int argc, char **argv);
int cmd_tokenize(int argc, char **argv);
int cmd_new(int argc, char **argv);
int cmd_contract(int argc, char **argv);
int cmd_inspect(int argc, char **argv);
int cmd_plugins(int argc, char **argv);
int cmd_bundle(int argc, char **argv);
int cmd_version(int argc, char **argv);

#endif
