/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/models.h"

#include "app/egress.h"
#include "app/endpoint.h"
#include "base/time.h"
#include "fmt/json.h"
#include "sys/file.h"

#include <fcntl.h>
#include <sys/stat.h>

#define KEPT_MS  (600 * 1000LL)
#define KEPT_MAX ((size_t)4 * 1024 * 1024)

static const char *dir_of(const struct place *place, struct arena *mem)
{
	return str_printf(mem, "%s/models", place->paths.cache).p;
}

static void read_one(const json_t *j, struct str id, struct listed_model *out)
{
	char key[LISTED_ID_MAX + 1];
	const json_t *prices;

	snprintf(key, sizeof(key), STR_FMT, STR_ARG(id));
	prices = json_object_get(json_object_get(j, "pricing"), key);
	*out = (struct listed_model){ .id = id, .window = json_get_int(json_object_get(j, "context"), key, 0),
		.price_in = -1, .price_out = -1 };
	if (json_array_size(prices) != 2 || !json_is_number(json_array_get(prices, 0)) || !json_is_number(json_array_get(prices, 1)))
		return;
	out->price_in = json_number_value(json_array_get(prices, 0));
	out->price_out = json_number_value(json_array_get(prices, 1));
}

int models_cached(const struct place *place, struct str provider, struct arena *mem, struct model_list *out, bool *fresh,
	struct err *err)
{
	auto_buf struct buf text = BUF_MAX(KEPT_MAX);
	auto_json json_t *j = NULL;
	autoclose int fd = -1;
	const json_t *ids, *id;
	struct stat st;
	size_t i;

	if (!config_name_ok(provider))
		return err_set(err, ERR_NOENT, "no such provider");
	TRY(file_open(AT_FDCWD, str_printf(mem, "%s/" STR_FMT ".json", dir_of(place, mem), STR_ARG(provider)).p, false, &fd, err));
	if (fstat(fd, &st) < 0)
		return err_set(err, ERR_NOENT, "the list cannot be read");
	TRY(file_read_fd(fd, &text, err));
	TRY(json_decode(buf_str(&text), JSON_EXACT, &j, err));
	ids = json_object_get(j, "models");
	*out = (struct model_list){ arena_array(mem, json_array_size(ids), sizeof(*out->p)), 0 };
	json_array_foreach(ids, i, id)
		if (json_is_string(id) && json_view(id).n <= LISTED_ID_MAX)
			read_one(j, str_dup(mem, json_view(id)), &out->p[out->n++]);
	*fresh = time_now_ms() - (int64_t)st.st_mtim.tv_sec * 1000 < KEPT_MS;
	return 0;
}

static int write_list(const struct model_list *list, struct buf *out, struct err *err)
{
	const char *sep = "";

	TRY(buf_addz(out, "{\"models\":[", err));
	for (size_t i = 0; i < list->n; i++, sep = ",") {
		TRY(buf_addz(out, sep, err));
		TRY(json_add_quoted(out, list->p[i].id, err));
	}
	TRY(buf_addz(out, "],\"pricing\":{", err));
	sep = "";
	for (size_t i = 0; i < list->n; i++) {
		if (list->p[i].price_in < 0 || list->p[i].price_out < 0)
			continue;
		TRY(buf_addz(out, sep, err));
		TRY(json_add_quoted(out, list->p[i].id, err));
		TRY(buf_addf(out, err, ":[%.9g,%.9g]", list->p[i].price_in, list->p[i].price_out));
		sep = ",";
	}
	TRY(buf_addz(out, "},\"context\":{", err));
	sep = "";
	for (size_t i = 0; i < list->n; i++) {
		if (list->p[i].window == 0)
			continue;
		TRY(buf_addz(out, sep, err));
		TRY(json_add_quoted(out, list->p[i].id, err));
		TRY(buf_addf(out, err, ":%lld", (long long)list->p[i].window));
		sep = ",";
	}
	return buf_addz(out, "}}\n", err);
}

void models_keep(const struct place *place, struct str provider, const struct model_list *list)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf text = BUF_MAX(KEPT_MAX);
	const char *dir = dir_of(place, mem);
	autoclose int fd = -1;

	if (!config_name_ok(provider) || list->n == 0 || write_list(list, &text, ERR_DISCARD) < 0)
		return;
	if (dir_make(dir, 0700, ERR_DISCARD) < 0 || dir_open(AT_FDCWD, dir, &fd, ERR_DISCARD) < 0)
		return;
	if (file_replace(fd, str_printf(mem, STR_FMT ".json", STR_ARG(provider)).p, buf_str(&text), 0600, ERR_DISCARD) < 0)
		return; /* it is asked for again next time */
}

int models_list(const struct place *place, const struct config_provider *p, struct arena *mem, struct connect_answer *out,
	struct err *err)
{
	struct model_list kept = { 0 };
	bool fresh = false, has = models_cached(place, p->name, mem, &kept, &fresh, ERR_DISCARD) == 0;
	int r;

	if (has && fresh) {
		*out = (struct connect_answer){ .status = 200, .models = kept };
		return 0;
	}
	r = connect_probe(place, p, mem, out, err);
	if (r < 0 && has) {
		*out = (struct connect_answer){ .status = 200, .models = kept };
		return 0;
	}
	return r;
}

const struct listed_model *models_find(const struct model_list *list, struct str id)
{
	for (size_t i = 0; i < list->n; i++)
		if (str_eq(list->p[i].id, id))
			return &list->p[i];
	return NULL;
}

/* ---- servers on this machine ---- */

/* Nothing there, or something else there: not one word about it, since nobody said that there is one. */
static bool knock(const struct connect_preset *preset, const struct programs *programs, int64_t patience_ms,
	struct arena *mem, struct model_list *out)
{
	auto_buf struct buf text = BUF_MAX(CONNECT_LIST_MAX);
	const struct config_provider p = { .name = str_from(preset->name), .api_format = CONFIG_API_OPENAI,
		.auth_style = CONFIG_AUTH_NONE, .base_url = str_from(preset->base_url), .http_timeout_s = 1 };
	struct egress_reply reply = { 0 };
	struct endpoint e = { 0 };

	if (app_endpoint(&p, STR("none"), mem, &e, ERR_DISCARD) < 0 || !host_is_loopback(e.host))
		return false;
	e.connect_ms = patience_ms;
	return egress_get(programs, &e, ROUTE_MODELS, STR(""), -1, patience_ms, &text, &reply, ERR_DISCARD) == 0 &&
		reply.status == 200 && lister_ask(programs, buf_str(&text), mem, out, ERR_DISCARD) == 0 && out->n > 0;
}

int models_discover(struct arena *mem, int64_t patience_ms, struct local_server **out, size_t *n, struct err *err)
{
	auto_programs struct programs programs = PROGRAMS_NONE;
	struct local_server *found = arena_array(mem, nconnect_presets, sizeof(*found));
	size_t have = 0;

	TRY(programs_open(&programs, err));
	for (size_t i = 0; i < nconnect_presets; i++) {
		const struct connect_preset *preset = &connect_presets[i];

		if (preset->keyless && preset->base_url && knock(preset, &programs, patience_ms, mem, &found[have].models))
			found[have++].preset = preset;
	}
	*out = found;
	*n = have;
	return 0;
}
