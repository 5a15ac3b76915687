/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "config/show.h"
#include "sys/file.h"
#include "test/lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static void load(struct arena *mem, struct test_dir *dir, const char *text, struct config *c)
{
	struct config_files files = { .global = str_printf(mem, "%s/c.toml", dir->path).p };
	struct err err = { 0 };

	test_write(dir, "c.toml", str_from(text));
	CHECK_OK(config_load(&files, mem, c, &err));
}

static bool has_line(struct str text, const char *line)
{
	while (text.n > 0)
		if (str_eqz(str_trim_suffix(str_line(&text), STR("\n")), line))
			return true;
	return false;
}

TEST(config_show_marks_what_is_set_and_clips_what_is_long)
{
	auto_arena struct arena *mem = arena_new();
	auto_dir struct test_dir dir = test_dir_new();
	auto_buf struct buf out = BUF_MAX(1 << 20);
	struct config c;
	struct err err = { 0 };

	load(mem, &dir, "[sandbox]\nprofile = 'strict'\n[git.commit]\ntrailer = 'Assisted-by: something that is rather long'\n", &c);
	CHECK_OK(config_show_table(&c, false, &out, &err));
	CHECK(has_line(buf_str(&out), "* sandbox.profile                    \"strict\"                         global"));
	CHECK(has_line(buf_str(&out), "  sandbox.run_commands               \"ask\"                            default"));
	CHECK(has_line(buf_str(&out), "* git.commit.trailer                 \"Assisted-by: something that ... global"));
	CHECK(has_line(buf_str(&out), "  no provider is configured; \"agent6 connect\" does it"));
	CHECK(strstr(out.p, "models.worker.effort") && !strstr(out.p, "models.critic.effort"));
}

TEST(config_show_of_a_key_or_section_is_whole)
{
	auto_arena struct arena *mem = arena_new();
	auto_dir struct test_dir dir = test_dir_new();
	auto_buf struct buf out = BUF_MAX(1 << 20), line = BUF_MAX(4096);
	struct config c;
	struct err err = { 0 };

	load(mem, &dir, "[git.commit]\nname = 'N'\n", &c);
	CHECK_OK(config_show_detail(&c, STR("git.commit"), &out, &err));
	CHECK(has_line(buf_str(&out), "git.commit.name = \"N\""));
	CHECK(has_line(buf_str(&out), "git.commit.trailer = \"\""));
	CHECK(!strstr(out.p, "git.allow_push"));
	CHECK_OK(config_show_line(&c, STR("git.commit.name"), &line, &err));
	CHECK_STR(buf_str(&line), str_printf(mem, "git.commit.name = \"N\"  [global, %s/c.toml:2]\n", dir.path));

	static const struct {
		const char *key, *msg;
	} bad[] = {
		{ "git.comit", "git.comit: unknown key" },
		{ "git.commit.nme", "git.commit.nme: unknown key; did you mean git.commit.name?" },
		{ "providers.x", "no provider \"x\" is configured" },
		{ "providers.x.base_url", "no provider \"x\" is configured" },
		{ "gi", "gi: unknown key" },
	};
	for (size_t i = 0; i < COUNT(bad); i++) {
		CHECK_INT(config_show_detail(&c, str_from(bad[i].key), &out, &err), -ERR_INVALID);
		CHECK_STR(str_from(err.msg), str_from(bad[i].msg));
	}
	CHECK_INT(config_show_line(&c, STR("git.commit"), &out, &err), -ERR_INVALID);
}

TEST(config_show_json_holds_every_key)
{
	auto_arena struct arena *mem = arena_new();
	auto_dir struct test_dir dir = test_dir_new();
	auto_buf struct buf out = BUF_MAX(1 << 20);
	auto_json json_t *j = NULL;
	struct config_leaf *leaves;
	struct config c;
	struct err err = { 0 };

	load(mem, &dir, "[providers.a]\napi_format = 'openai'\nextra_body = { a = [1, 2.5] }\n", &c);
	CHECK_OK(config_show_json(&c, (struct str_list){ 0 }, &out, &err));
	CHECK_OK(json_decode(buf_str(&out), JSON_EXACT, &j, &err));
	CHECK_INT(json_object_size(j), config_leaves(&c, mem, &leaves));
	const json_t *body = json_object_get(j, "providers.a.extra_body");
	CHECK_INT(json_array_size(json_object_get(json_object_get(body, "value"), "a")), 2);
	CHECK_STR(json_get_str(body, "source"), STR("global"));
	CHECK_INT(json_get_int(body, "line", 0), 3);
	CHECK(json_is_true(json_object_get(body, "modified")));
	CHECK(json_is_null(json_object_get(json_object_get(j, "providers.a.api_format"), "default")));
	struct str only[] = { STR("budget"), STR("nope") };
	buf_clear(&out);
	CHECK_OK(config_show_json(&c, (struct str_list){ only, 1 }, &out, &err));
	CHECK(strstr(out.p, "budget.max_usd") && !strstr(out.p, "sandbox."));
	CHECK_INT(config_show_json(&c, (struct str_list){ only, 2 }, &out, &err), -ERR_INVALID);
}

TEST(config_show_hides_the_values_of_headers_and_parameters)
{
	auto_arena struct arena *mem = arena_new();
	auto_dir struct test_dir dir = test_dir_new();
	auto_buf struct buf out = BUF_MAX(1 << 20);
	struct config c;
	struct err err = { 0 };

	load(mem, &dir, "[providers.a]\napi_format = 'openai'\nextra_headers = { x-gate = 'hush1' }\nextra_query = { key = 'hush2' }\n", &c);
	CHECK_OK(config_show_table(&c, true, &out, &err));
	CHECK_OK(config_show_detail(&c, STR("providers"), &out, &err));
	CHECK_OK(config_show_json(&c, (struct str_list){ 0 }, &out, &err));
	CHECK_OK(config_show_line(&c, STR("providers.a.extra_headers"), &out, &err));
	CHECK(strstr(out.p, "x-gate = \"<hidden>\"") && !strstr(out.p, "hush"));
}

TEST(config_reference_page_is_what_the_table_prints)
{
	auto_buf struct buf page = BUF_MAX(1 << 20), now = BUF_MAX(1 << 20);
	const char *source = getenv("AGENT6_SOURCE");
	char path[4096];
	struct err err = { 0 };

	snprintf(path, sizeof(path), "%s/docs/config.md", source ? source : ".");
	CHECK_OK(config_print_reference(&now, &err));
	CHECK_OK(file_read(AT_FDCWD, path, &page, &err));
	CHECK_STR(buf_str(&page), buf_str(&now)); /* agent6 config reference > docs/config.md */
}
