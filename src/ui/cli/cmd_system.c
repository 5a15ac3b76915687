/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/apparmor.h"
#include "role/launch.h"
#include "ui/cli/command.h"

#include <stdlib.h>
#include <unistd.h>

#define NOT_HERE 1 /* exit status where there is no AppArmor */

static void print_line(void *self, const char *line)
{
	(void)self;
	cli_out("%s\n", line);
}

static void note_line(void *self, const char *line)
{
	(void)self;
	cli_note("%s", line);
}

static int describe(struct command_ctx *ctx, struct apparmor *out, struct err *err)
{
	auto_programs struct programs p = PROGRAMS_NONE;
	char *real;

	TRY(programs_open(&p, err));
	real = realpath(p.jail_path, NULL);
	if (!real)
		return err_set(err, ERR_NOENT, "%s is not there any more", p.jail_path);
	*out = (struct apparmor){ .mem = ctx->mem, .root = "", .uid = geteuid(), .owner = 0,
		.launcher = str_dupz(ctx->mem, str_from(real)), .say = note_line };
	free(real);
	return 0;
}

struct system_args {
	int verb;
};

enum { VERB_STATUS, VERB_INSTALL, VERB_REMOVE };
static const char *const verb_words[] = { "status", "install", "remove", NULL };

static const struct field system_fields[] = {
	{ "verb", &field_enum, offsetof(struct system_args, verb), .flags = FIELD_POSITIONAL, .dflt = "status",
		.choices = verb_words, .help = "What to do with it." },
};

static int run_apparmor(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct system_args *args = decoded;
	struct apparmor a;
	int r;

	TRY(describe(ctx, &a, err));
	switch (args->verb) {
	case VERB_INSTALL:
		r = apparmor_install(&a, err);
		if (r != -ERR_UNSUPPORTED)
			return r;
		report_err(err);
		return NOT_HERE;
	case VERB_REMOVE:
		return apparmor_remove(&a, err);
	default:
		a.say = print_line;
		return apparmor_status(&a, err);
	}
}

static const struct command commands[] = {
	{ .name = "system apparmor",
		.help = "let agent6-jail make user namespaces where AppArmor restricts them",
		.about = "install writes /etc/apparmor.d/agent6-jail and loads it; it wants root's rights and an agent6-jail that only "
			 "root can exchange. remove takes it away, status says whether it is there, loaded and needed. install exits "
			 "with 1 where there is no AppArmor, or nothing to allow.",
		.fields = system_fields, .nfields = COUNT(system_fields), .size = sizeof(struct system_args),
		.run = run_apparmor, .needs_no_root_check = true },
};

const struct command_group commands_system = { commands, COUNT(commands), NULL };
