/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "net/live.h"

#include <string.h>

static char *make_url(const struct endpoint *e, struct str path)
{
	auto_buf struct buf b = BUF_MAX(32 * 1024);
	bool v6 = str_find(e->host, STR(":")) < e->host.n;

	if (path.n == 0)
		return NULL;
	/* The table's check bounds every part, so this fits. */
	BUG_IF(buf_addf(&b, ERR_DISCARD, "%s://%s" STR_FMT "%s:%u" STR_FMT STR_FMT "%s" STR_FMT,
		       e->tls ? "https" : "http", v6 ? "[" : "", STR_ARG(e->host), v6 ? "]" : "", e->port,
		       STR_ARG(e->prefix), STR_ARG(path), e->query.n > 0 ? "?" : "", STR_ARG(e->query)) < 0);
	return buf_take(&b);
}

static void add_header(struct curl_slist **list, struct str name, struct str value)
{
	auto_buf struct buf b = BUF_MAX(64 * 1024);
	struct curl_slist *longer;

	/* "name;" is how libcurl spells a header without a value; "name:" would mean none at all. */
	BUG_IF(buf_addf(&b, ERR_DISCARD, STR_FMT "%s" STR_FMT, STR_ARG(name), value.n > 0 ? ": " : ";",
		       STR_ARG(value)) < 0);
	longer = curl_slist_append(*list, b.p);
	BUG_IF(!longer);
	*list = longer;
	explicit_bzero(b.p, b.n); /* it may hold the key */
}

static bool has_header(const struct endpoint *e, const char *name)
{
	for (size_t i = 0; i < e->nheaders; i++)
		if (e->headers[i].name.n == strlen(name) &&
			strncasecmp(e->headers[i].name.p, name, e->headers[i].name.n) == 0)
			return true;
	return false;
}

static struct curl_slist *make_headers(const struct endpoint *e, enum live_request what)
{
	static const char *const accepts[] = { [LIVE_GET] = "application/json", [LIVE_POST] = "text/event-stream, application/json",
		[LIVE_STREAM] = "text/event-stream" };
	struct curl_slist *list = curl_slist_append(NULL, "Expect:");

	BUG_IF(!list);
	for (size_t i = 0; i < e->nheaders; i++)
		add_header(&list, e->headers[i].name, e->headers[i].value);
	if (!has_header(e, "accept"))
		add_header(&list, STR("accept"), str_from(accepts[what]));
	if (what == LIVE_POST && !has_header(e, "content-type"))
		add_header(&list, STR("content-type"), STR("application/json"));
	return list;
}

static void add_auth(struct curl_slist **list, const struct endpoint *e, const struct secret *key)
{
	static const struct {
		enum endpoint_auth auth;
		const char *name, *scheme;
	} styles[] = { { AUTH_BEARER, "authorization", "Bearer " }, { AUTH_X_API_KEY, "x-api-key", "" },
		{ AUTH_API_KEY_HEADER, "api-key", "" } };
	auto_buf struct buf value = BUF_MAX(32 * 1024);

	for (size_t i = 0; i < COUNT(styles) && !secret_is_empty(key); i++) {
		if (styles[i].auth != e->auth)
			continue;
		BUG_IF(buf_addz(&value, styles[i].scheme, ERR_DISCARD) < 0);
		BUG_IF(buf_add(&value, secret_reveal(key), ERR_DISCARD) < 0);
		add_header(list, str_from(styles[i].name), buf_str(&value));
		explicit_bzero(value.p, value.n);
	}
}

void live_add_header(struct curl_slist **list, const char *name, struct str value)
{
	add_header(list, str_from(name), value);
}

struct curl_slist *live_headers(const struct endpoint *e, const struct secret *key, enum live_request what)
{
	struct curl_slist *list = make_headers(e, what);

	add_auth(&list, e, key);
	return list;
}

static int store_for(struct stores *all, struct str path, struct live *out, struct err *err)
{
	struct store *s = &all->p[all->n];

	for (size_t i = 0; i < all->n; i++)
		if (str_eq(all->p[i].path, path)) {
			out->ca = all->p[i].ca;
			out->trust = i + 1;
			return 0;
		}
	if (all->n == 0)
		TRY(castore_check(err));
	TRY(castore_load(path, &s->ca, err));
	s->path = path;
	out->ca = s->ca;
	out->trust = ++all->n;
	return 0;
}

char *live_cstr(struct str s)
{
	char *z = mem_alloc(s.n + 1);

	if (s.n > 0)
		memcpy(z, s.p, s.n);
	return z;
}

int live_init(struct live *l, const struct endpoint *e, bool broker, struct stores *stores, struct err *err)
{
	l->e = e;
	if (e->kind == ENDPOINT_RECORDING)
		return 0;
	BUG_IF(e->key_from == KEY_SECRETS);
	l->host = live_cstr(e->host);
	l->chat_url = make_url(e, e->chat_path);
	l->models_url = make_url(e, e->models_path);
	l->post_headers = live_headers(e, &e->key, LIVE_POST);
	l->get_headers = live_headers(e, &e->key, LIVE_GET);
	if (!e->direct) {
		if (!broker)
			return err_set(err, ERR_PROTOCOL, "the channel to the broker is missing");
		snprintf(l->by_broker, sizeof(l->by_broker), "r%u", e->route);
	}
	return e->tls ? store_for(stores, e->ca_file, l, err) : 0;
}

void live_put_token(struct live *l, struct secret token)
{
	if (secret_is_empty(&l->token) || str_eq(secret_reveal(&l->token), secret_reveal(&token))) {
		secret_fini(&l->token);
	} else {
		secret_fini(&l->before);
		l->before = l->token;
	}
	l->token = token;
}

void live_fini(struct live *l)
{
	free(l->chat_url);
	free(l->models_url);
	free(l->host);
	curl_slist_free_all(l->post_headers);
	curl_slist_free_all(l->get_headers);
	secret_fini(&l->token);
	secret_fini(&l->before);
	*l = (struct live){ 0 };
}

void stores_fini(struct stores *all)
{
	for (size_t i = 0; i < all->n; i++)
		castore_free(all->p[i].ca);
	all->n = 0;
}
