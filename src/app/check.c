/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/check.h"
#include "app/connect.h"
#include "app/owner.h"
#include "config/secrets.h"

#include <stdarg.h>
#include <stdio.h>

static void row(const struct check *k, enum check_verdict v, const char *name, const char *fmt, ...)
	FORMAT(4, 5);

static void row(const struct check *k, enum check_verdict v, const char *name, const char *fmt, ...)
{
	char detail[1200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	k->row(k->self, v, name, "", detail);
}

static void fault_row(const struct check *k, const char *name, const struct err *err)
{
	const char *hint = err->hint[0] ? "; " : "";

	if (err->at.line > 0)
		row(k, CHECK_FAIL, name, "%s:%d:%d: %s%s%s", err->at.file, err->at.line, err->at.col,
			err->msg, hint, err->hint);
	else
		row(k, CHECK_FAIL, name, "%s%s%s", err->msg, hint, err->hint);
}

/* ------------------------------------------------------------------ config */

static void file_row(const struct check *k, const char *name, const char *path)
{
	if (path)
		row(k, CHECK_INFO, name, "%s%s", path, access(path, F_OK) == 0 ? "" : " (not present)");
}

static void model_row(const struct check *k, const struct config *c)
{
	const struct config_model *m = &c->models[CONFIG_WORKER];

	if (m->provider.n > 0 && m->model.n > 0)
		row(k, CHECK_PASS, "config.model", "worker is " STR_FMT "/" STR_FMT, STR_ARG(m->provider),
			STR_ARG(m->model));
	else
		row(k, CHECK_INFO, "config.model", "no worker is chosen: agent6 model worker PROVIDER MODEL");
}

/* Each value that is not the default and may be the weaker one: nobody should have to look for it. */
static int loose_rows(const struct check *k, struct config *c, struct err *err)
{
	struct config_leaf *leaves;
	size_t n = config_leaves(c, k->mem, &leaves);

	for (size_t i = 0; i < n; i++) {
		auto_buf struct buf value = BUF_MAX(TOML_MAX);

		if (!(leaves[i].field->flags & FIELD_LOOSENS) || leaves[i].origin->layer == CONFIG_DEFAULT)
			continue;
		TRY(field_print(leaves[i].field, leaves[i].base, &value, err));
		row(k, CHECK_INFO, "config.set", STR_FMT " = " STR_FMT " (%s)", STR_ARG(leaves[i].key),
			STR_ARG(buf_str(&value)), config_layer_name(leaves[i].origin->layer));
	}
	return 0;
}

/* Where a file that only its owner may read stands otherwise, `run` refuses; so do we. */
static bool secrets_row(const struct check *k, const struct place *place, const char *name)
{
	autoclose int fd = -1;
	struct err err = { 0 };
	int r = secrets_open(place->paths.secrets_file, &fd, &err);

	if (r == -ERR_NOENT) {
		row(k, CHECK_INFO, name, "%s (not present)", place->paths.secrets_file);
		return true;
	}
	r = r < 0 ? r : secrets_stray(fd, &err);
	if (r < 0)
		fault_row(k, name, &err);
	else if (r > 0)
		row(k, CHECK_FAIL, name, "%s: line %d " SECRETS_STRAY, place->paths.secrets_file, r);
	else
		row(k, CHECK_PASS, name, "%s is readable by you alone", place->paths.secrets_file);
	return r >= 0;
}

int check_config(const struct check *k, const struct place *place, struct err *err)
{
	struct config *c = arena_alloc(k->mem, sizeof(*c));
	struct config_faults faults;

	file_row(k, "config.global", place->files.global);
	file_row(k, "config.repo", place->files.repo);
	file_row(k, "config.file", place->files.file);
	secrets_row(k, place, "config.secrets");
	faults = config_check(&place->files, k->mem);
	for (size_t i = 0; i < faults.n; i++)
		fault_row(k, "config.files", &faults.p[i]);
	if (faults.n > 0)
		return 0;
	TRY(config_load(&place->files, k->mem, c, err));
	row(k, CHECK_PASS, "config.files", "every key and value is right");
	row(k, CHECK_PASS, "config.git_policy", "agent6's git has no way to push, force or rewrite");
	struct err foreign = { 0 };

	if (owner_check_place(place, c, k->mem, &foreign) < 0)
		fault_row(k, "config.repository", &foreign);
	model_row(k, c);
	return loose_rows(k, c, err);
}

/* ------------------------------------------------------------------ keys */

static void key_row(const struct check *k, const struct config_provider *p, enum connect_key key)
{
	const char *name = str_printf(k->mem, "keys." STR_FMT, STR_ARG(p->name)).p;

	switch (key) {
	case CONNECT_KEY_ENV:
		row(k, CHECK_PASS, name, "from the environment, " STR_FMT, STR_ARG(p->api_key_env));
		return;
	case CONNECT_KEY_STORED:
		row(k, CHECK_PASS, name, "stored");
		return;
	case CONNECT_KEY_COMMAND:
		row(k, CHECK_PASS, name, "from token_command");
		return;
	case CONNECT_KEY_NOT_NEEDED:
		row(k, CHECK_PASS, name, "none is wanted");
		return;
	case CONNECT_KEY_NONE:
		break;
	}
	if (p->api_key_env.n > 0)
		row(k, CHECK_FAIL, name, "there is none: " STR_FMT " is not set; or agent6 connect " STR_FMT, STR_ARG(p->api_key_env), STR_ARG(p->name));
	else if (config_needs_key(p))
		row(k, CHECK_FAIL, name, "there is none: agent6 connect " STR_FMT, STR_ARG(p->name));
	else
		row(k, CHECK_INFO, name, "there is none; right for a server that wants none");
}

int check_keys(const struct check *k, const struct place *place, struct err *err)
{
	struct config *c = arena_alloc(k->mem, sizeof(*c));
	bool usable;

	usable = secrets_row(k, place, "keys.file");
	if (config_load(&place->files, k->mem, c, err) < 0) {
		fault_row(k, "keys", err);
		return 0;
	}
	if (c->nproviders == 0)
		row(k, CHECK_INFO, "keys", "no provider is configured: agent6 connect");
	for (size_t i = 0; i < c->nproviders; i++) {
		const char *name = str_printf(k->mem, "keys." STR_FMT, STR_ARG(c->providers[i]->name)).p;
		enum connect_key key = CONNECT_KEY_NONE;
		int r = connect_key_of(place, c->providers[i], k->mem, &key, err);

		if (r < 0 && !usable)
			row(k, CHECK_INFO, name, "not known: it would be in the file, keys.file says what is wrong with that");
		else if (r < 0)
			fault_row(k, name, err);
		else
			key_row(k, c->providers[i], key);
	}
	return 0;
}
