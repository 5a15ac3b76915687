/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "config/config.h"
#include "config/keys_priv.h"
#include "test/lib/test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ------------------------------------------------------------------ the tables */

static void check_table(const struct keys *k)
{
	auto_arena struct arena *mem = arena_new();
	void *fresh = arena_alloc(mem, sizeof(struct config));
	struct err err = { 0 };

	for (size_t i = 0; i < k->n; i++) {
		const struct field *f = &k->p[i];
		auto_buf struct buf text = BUF_MAX(4096);

		CHECK(f->help && str_ends(str_from(f->help), STR(".")));
		CHECK(f->type != &field_enum || f->choices);
		CHECK(field_find(k->p, k->n, str_from(f->name)) == f);
		if (f->dflt)
			CHECK_OK(field_parse(f, str_from(f->dflt), mem, fresh, &err));
		/* What is printed reads back as the same. */
		CHECK_OK(field_print(f, fresh, &text, &err));
		struct toml *v = NULL;
		CHECK_OK(toml_value(buf_str(&text), mem, &v, &err));
		auto_json json_t *j = NULL;
		CHECK_OK(toml_to_json(v, &j, &err));
		CHECK_OK(f->type->from_json(f, f->name, j, mem, (char *)fresh + f->offset, &err));
		auto_buf struct buf again = BUF_MAX(4096);
		CHECK_OK(field_print(f, fresh, &again, &err));
		CHECK_STR(buf_str(&again), buf_str(&text));
	}
}

TEST(config_every_key_has_help_and_a_default_that_reads_back)
{
	check_table(&keys_fixed);
	check_table(&keys_provider);
	check_table(&keys_model);
}

TEST(config_every_key_stands_in_a_section_and_every_section_holds_keys)
{
	for (size_t i = 0; i < keys_fixed.n; i++) {
		struct str rest = str_from(keys_fixed.p[i].name), first = str_cut(&rest, '.');
		size_t found = 0;

		for (size_t s = 0; s < nkey_sections; s++)
			found += str_eqz(first, key_sections[s].name);
		CHECK_INT(found, 1);
		CHECK(rest.n > 0 || str_eqz(first, "preset")); /* alone in its section */
	}
}

TEST(config_that_loosens_security_defaults_to_the_strict_side)
{
	auto_arena struct arena *mem = arena_new();
	struct config_files files = { 0 };
	struct config c;
	struct err err = { 0 };

	CHECK_OK(config_load(&files, mem, &c, &err));
	CHECK_STR(str_from(config_word("sandbox.profile", c.sandbox.profile)), STR("auto"));
	CHECK_STR(str_from(config_word("sandbox.agent_network", c.sandbox.agent_network)), STR("providers"));
	CHECK_STR(str_from(config_word("sandbox.tool_network", c.sandbox.tool_network)), STR("block"));
	CHECK_STR(str_from(config_word("sandbox.run_commands", c.sandbox.run_commands)), STR("ask"));
	CHECK(c.sandbox.protect_git && c.sandbox.allow_urls.n == 0 && c.sandbox.extra_read_paths.n == 0 &&
		c.sandbox.extra_write_paths.n == 0);
	CHECK(!config_is_set(&c, "sandbox.memory_limit_mb"));
	CHECK_INT(c.sandbox.memory_limit_mb, 4096);
	CHECK_INT(c.sandbox.root_as_uid, 64006);
	CHECK_INT(c.budget.max_input_tokens, 2000000);
	CHECK_INT(c.budget.max_output_tokens, 200000);
	CHECK(c.budget.max_usd == 10);
	CHECK_INT(c.workflow.max_iterations, 200);
	CHECK_INT(c.workflow.command_timeout_s, 3600);
	CHECK_INT(c.workflow.command_checkin_s, 900);
	CHECK_INT(c.nproviders, 0);
}

/* ------------------------------------------------------------------ files */

/* A scratch home: global.toml, repo.toml and file.toml as far as they are given. */
struct home {
	struct test_dir dir;
	struct arena *mem;
	struct config_files files;
};

static void home_fini(struct home *h)
{
	arena_free(h->mem);
	test_dir_fini(&h->dir);
}
#define auto_home CLEANUP(home_fini)

static const char *home_file(struct home *h, const char *name, const char *text)
{
	if (text)
		test_write(&h->dir, name, str_from(text));
	return str_printf(h->mem, "%s/%s", h->dir.path, name).p;
}

static struct home home_new(const char *global, const char *repo, const char *file)
{
	struct home h = { .dir = test_dir_new(), .mem = arena_new() };

	h.files.global = home_file(&h, "global.toml", global);
	h.files.repo = home_file(&h, "repo.toml", repo);
	if (file)
		h.files.file = home_file(&h, "file.toml", file);
	h.files.home = "/home/me";
	return h;
}

TEST(config_layers_win_in_order_and_say_who_won)
{
	auto_home struct home h = home_new(
		"[sandbox]\nprofile = \"strict\"\nmemory_limit_mb = 1\nextra_read_paths = [\"/a\", \"~/b\"]\n[budget]\nmax_usd = 1\n"
		"[providers.a]\napi_format = 'openai'\nbase_url = 'http://127.0.0.1:1/v1/'\n"
		"[models.worker]\nprovider = 'a'\nmodel = 'm'\neffort = 'low'\n",
		"[sandbox]\nprofile = \"hardened\"\nmemory_limit_mb = 2\n[providers.a]\nhttp_timeout_s = 5\n",
		"sandbox.profile = \"none\"\n");
	struct config c;
	struct err err = { 0 };

	CHECK_OK(config_load(&h.files, h.mem, &c, &err));
	CHECK_INT(c.sandbox.profile, CONFIG_PROFILE_NONE);
	CHECK_INT(c.sandbox.memory_limit_mb, 2);
	CHECK_STR(c.sandbox.extra_read_paths.p[1], STR("/home/me/b"));
	CHECK(c.budget.max_usd == 1);
	CHECK(config_is_set(&c, "sandbox.memory_limit_mb") && !config_is_set(&c, "sandbox.run_commands"));
	CHECK_OK(config_override(&c, "budget.max_usd", STR("2.5"), "--max-usd", &err));
	CHECK(c.budget.max_usd == 2.5);

	static const struct {
		const char *key;
		enum config_layer layer;
		int line, col;
	} sources[] = {
		{ "sandbox.profile", CONFIG_FILE, 1, 9 }, { "sandbox.memory_limit_mb", CONFIG_REPO, 3, 1 },
		{ "sandbox.extra_read_paths", CONFIG_GLOBAL, 4, 1 }, { "budget.max_usd", CONFIG_FLAG, 0, 0 },
		{ "sandbox.protect_git", CONFIG_DEFAULT, 0, 0 }, { "providers.a.http_timeout_s", CONFIG_REPO, 5, 1 },
		{ "providers.a.base_url", CONFIG_GLOBAL, 9, 1 }, { "models.worker.effort", CONFIG_GLOBAL, 13, 1 },
		{ "models.planner.effort", CONFIG_DEFAULT, 0, 0 },
	};
	for (size_t i = 0; i < COUNT(sources); i++) {
		struct config_leaf leaf;

		CHECK_OK(config_leaf(&c, str_from(sources[i].key), &leaf, &err));
		CHECK_INT(leaf.origin->layer, sources[i].layer);
		CHECK_INT(leaf.origin->line, sources[i].line);
		CHECK_INT(leaf.origin->col, sources[i].col);
	}

	const struct config_provider *p = config_provider(&c, STR("a"));
	CHECK(p && p->http_timeout_s == 5 && p->api_format == CONFIG_API_OPENAI && p->prompt_caching);
	CHECK_STR(config_base_url(p), STR("http://127.0.0.1:1/v1"));
	CHECK_INT(config_auth_of(p), CONFIG_AUTH_BEARER);
}

TEST(config_roles_without_a_model_are_played_by_the_worker)
{
	auto_home struct home h = home_new(
		"[providers.a]\napi_format = 'openai'\n[providers.b]\napi_format = 'anthropic'\n"
		"[models.worker]\nprovider = 'a'\nmodel = 'm'\neffort = 'low'\nprice_in = 3\nprice_cache_read = 0.5\ncontext_tokens = 1000\n"
		"[models.planner]\nprovider = 'b'\nmodel = 'big'\n[models.critic]\neffort = 'high'\n", NULL, NULL);
	struct config c;
	struct err err = { 0 };

	CHECK_OK(config_load(&h.files, h.mem, &c, &err));
	struct config_model critic = config_model_of(&c, CONFIG_CRITIC), planner = config_model_of(&c, CONFIG_PLANNER);
	CHECK_STR(critic.provider, STR("a"));
	CHECK_STR(critic.model, STR("m"));
	CHECK(critic.effort == CONFIG_EFFORT_HIGH && critic.price_in == 3 && critic.price_cache_read == 0.5 && critic.context_tokens == 1000);
	CHECK_STR(planner.provider, STR("b"));
	CHECK_STR(planner.model, STR("big"));
	CHECK(planner.effort == CONFIG_EFFORT_UNSET && planner.price_in < 0 && planner.context_tokens == 0);
	CHECK_STR(config_base_url(config_provider(&c, STR("b"))), STR("https://api.anthropic.com/v1"));
	CHECK_INT(config_auth_of(config_provider(&c, STR("b"))), CONFIG_AUTH_X_API_KEY);
}

#define PROVIDER "[providers.a]\napi_format = 'openai'\n"

static const struct {
	const char *why, *text;
	int line, col;
	const char *msg;
} faults[] = {
	{ "a table twice", "[sandbox]\nprofile = 'none'\n\n[sandbox]\n", 4, 2, "the table sandbox is set twice, first on line 1" },
	{ "a misspelt table", "[buget]\nmax_usd = 1\n", 2, 1, "buget.max_usd: unknown key; did you mean budget.max_usd?" },
	{ "a misspelt key", "[sandbox]\nprofil = 'none'\n", 2, 1, "sandbox.profil: unknown key; did you mean sandbox.profile?" },
	{ "a key below the wrong header", "[models.worker]\nmodel = \"m\"\n\nverify_command = [\"make\", \"test\"]\n", 4, 1,
		"models.worker.verify_command: unknown key; did you mean workflow.verify_command?" },
	{ "a misspelt key of a model", "[models.worker]\nmodle = 'm'\n", 2, 1,
		"models.worker.modle: unknown key; did you mean models.worker.model?" },
	{ "a misspelt role", "[models.wroker]\nmodel = 'm'\n", 2, 1,
		"models.wroker.model: unknown key; did you mean models.worker.model?" },
	{ "a misspelt key of a provider", PROVIDER "base_ulr = 'x'\n", 3, 1,
		"providers.a.base_ulr: unknown key; did you mean providers.a.base_url?" },
	{ "a list of tables", "[[rule]]\nnmae = \"x\"\n", 2, 1, "rule[0].nmae: unknown key" },
	{ "an empty table", "[what]\n", 1, 2, "what: unknown key" },
	{ "a table that is a value", "sandbox = 1\n", 1, 1, "sandbox: expected a table, got an integer" },
	{ "a table that is a list", "[[sandbox]]\nprofile = 'none'\n", 1, 3, "sandbox: expected a table, got a list" },
	{ "a value that is a table", "[sandbox.profile]\nx = 1\n", 1, 1,
		"sandbox.profile: an object is not one of auto, strict, hardened, none" },
	{ "a gate without a program", "[workflow]\nverify_command = ['', 'x']\n", 2, 1, "workflow.verify_command: the program's name is blank" },
	{ "a metric without a program", "[workflow.metric]\ncommand = ['']\npattern = '(.)'\n", 2, 1, "workflow.metric.command: the program's name is blank" },
	{ "a wrong choice", "[sandbox]\nrun_commands = \"always\"\n", 2, 16,
		"sandbox.run_commands: \"always\" is not one of ask, yes, no" },
	{ "a wrong type", "[budget]\nmax_usd = '1'\n", 2, 11, "budget.max_usd: expected a number, got \"1\"" },
	{ "a list spelt as a string", "[sandbox]\nallow_urls = '[\"a\"]'\n", 2, 14,
		"sandbox.allow_urls: expected a list of strings, got a string" },
	{ "a date for a string", "[git.commit]\nname = 2026-11-29\n", 2, 8, "git.commit.name: expected a string, got a date" },
	{ "out of range", "[workflow]\nmax_iterations = -2\n", 2, 18, "workflow.max_iterations: -2 is not between -1 and 1000000" },
	{ "no number at all", "[budget]\nmax_usd = nan\n", 2, 11, "budget.max_usd: expected a finite number" },
	{ "a relative path", "[sandbox]\nextra_read_paths = ['a']\n", 2, 20,
		"sandbox.extra_read_paths: \"a\" is not an absolute path without \"..\", \"//\" or an end in '/'" },
	{ "a path that climbs", "[sandbox]\nhide_paths = ['/a/../b']\n", 2, 14,
		"sandbox.hide_paths: \"/a/../b\" is not an absolute path without \"..\", \"//\" or an end in '/'" },
	{ "a provider without a format", "[providers.a]\nbase_url = 'https://x'\n", 2, 1,
		"providers.a.api_format: required, one of anthropic, openai, responses" },
	{ "azure speaks openai", "[providers.a]\napi_format = 'anthropic'\ndeployment = 'azure'\nbase_url = 'https://x'\n", 3, 1,
		"providers.a.deployment: azure is for api_format = \"openai\" or \"responses\" only" },
	{ "vertex needs an address", PROVIDER "deployment = 'vertex'\n", 2, 1,
		"providers.a.base_url: required unless the deployment is direct" },
	{ "a key that is not used", PROVIDER "auth_style = 'none'\napi_key_env = 'K'\n", 4, 1,
		"providers.a.api_key_env: has no use with auth_style = \"none\"" },
	{ "plain http to elsewhere", PROVIDER "base_url = 'http://example.com'\n", 3, 12,
		"providers.a.base_url: http is for this machine only; another host needs https" },
	{ "a key in a header", PROVIDER "extra_headers = { Authorization = 'Bearer x' }\n", 3, 17,
		"providers.a.extra_headers: authorization is not set here" },
	{ "a header of two lines", PROVIDER "extra_headers = { x-a = \"1\\r\\n2\" }\n", 3, 17,
		"providers.a.extra_headers.x-a: a header's value is printable ASCII" },
	{ "a header that is no string", PROVIDER "extra_headers = { x-a = 1 }\n", 3, 17,
		"providers.a.extra_headers.x-a: expected a string" },
	{ "a date in a body", PROVIDER "extra_body = { a = [2026-11-29] }\n", 3, 14,
		"providers.a.extra_body: expected an object, got a table" },
	{ "a provider's odd name", "[providers.\"a b\"]\napi_format = 'openai'\n", 2, 1,
		"providers.\"a b\".api_format: the name of a provider is of letters, digits, '-' and '_'" },
	{ "a model of nobody", "[models.worker]\nprovider = 'x'\n", 2, 1, "models.worker.provider: \"x\" is not a configured provider" },
	{ "a bad escape", "[git.commit]\nname = \"C:\\WINDOWS\"\n", 2, 11, "\\W is not an escape" },
};

TEST(config_tells_file_line_column_and_what_would_be_right)
{
	for (size_t i = 0; i < COUNT(faults); i++) {
		auto_home struct home h = home_new(faults[i].text, NULL, NULL);
		struct config c = { .nproviders = 7 };
		struct err err = { 0 };

		CHECK(config_load(&h.files, h.mem, &c, &err) < 0);
		CHECK_STR(str_from(err.msg), str_from(faults[i].msg));
		CHECK_STR(str_from(err.at.file), str_from(h.files.global));
		CHECK_INT(err.at.line, faults[i].line);
		CHECK_INT(err.at.col, faults[i].col);
		CHECK_INT(c.nproviders, 7); /* nothing is half used */
	}
}

TEST(config_names_every_fault_of_every_file)
{
	auto_home struct home h = home_new("[sandbox]\nprofil = 'none'\nrun_commands = 1\n[x.y]\na = 1\nb = 2\n", "[broken\n", NULL);
	struct config_faults all = config_check(&h.files, h.mem);
	struct config c;
	struct err err = { 0 };

	CHECK_INT(all.n, 5);
	CHECK_STR(str_from(all.p[2].msg), STR("x.y.a: unknown key"));
	CHECK_STR(str_from(all.p[3].msg), STR("x.y.b: unknown key"));
	CHECK_STR(str_from(all.p[4].at.file), str_from(h.files.repo));
	CHECK(config_load(&h.files, h.mem, &c, &err) < 0);
	CHECK(strstr(err.msg, "(and 4 more;") != NULL);
}

TEST(config_keys_that_are_not_for_a_repository_are_refused_there)
{
	auto_home struct home h = home_new("[sandbox]\nroot_as_uid = 70000\n", "[sandbox]\nroot_as_uid = 70001\n", NULL);
	struct config c;
	struct err err = { 0 };

	CHECK_INT(config_load(&h.files, h.mem, &c, &err), -ERR_INVALID);
	CHECK_STR(str_from(err.msg), STR("sandbox.root_as_uid: may only be set in the global file"));
	CHECK_STR(str_from(err.at.file), str_from(h.files.repo));
}

TEST(config_files_may_be_absent_but_not_the_one_that_was_named)
{
	auto_home struct home h = home_new(NULL, NULL, NULL);
	struct config c;
	struct err err = { 0 };

	CHECK_OK(config_load(&h.files, h.mem, &c, &err));
	h.files.file = home_file(&h, "none.toml", NULL);
	CHECK_INT(config_load(&h.files, h.mem, &c, &err), -ERR_NOENT);
	CHECK(strstr(err.msg, "none.toml") != NULL);
}

TEST(config_with_a_byte_order_mark_and_crlf_is_read_whole)
{
	auto_home struct home h = home_new("\xEF\xBB\xBF[budget]\r\nmax_usd = 1\r\n", NULL, NULL);
	struct config c;
	struct err err = { 0 };

	CHECK_OK(config_load(&h.files, h.mem, &c, &err));
	CHECK(c.budget.max_usd == 1);
}

TEST(config_in_the_workspace_or_writable_by_all_is_not_configuration)
{
	auto_home struct home h = home_new("[budget]\nmax_usd = 1\n", NULL, NULL);
	auto_dir struct test_dir elsewhere = test_dir_new();
	struct config c;
	struct err err = { 0 };

	/* A link does not hide where the file lies. */
	CHECK(symlinkat(h.files.global, elsewhere.fd, "link.toml") == 0);
	h.files.global = str_printf(h.mem, "%s/link.toml", elsewhere.path).p;
	CHECK_OK(config_load(&h.files, h.mem, &c, &err));
	h.files.workspace = h.dir.path;
	CHECK_INT(config_load(&h.files, h.mem, &c, &err), -ERR_DENIED);
	CHECK_STR(str_from(err.hint), STR("move the file that this name leads to out of the workspace, and start agent6 again"));
	h.files.global = str_printf(h.mem, "%s/global.toml", h.dir.path).p;
	CHECK_INT(config_load(&h.files, h.mem, &c, &err), -ERR_DENIED);
	CHECK_STR(str_from(err.hint), STR("move it out of the workspace, and start agent6 again"));
	h.files.workspace = str_printf(h.mem, "%s/glob", h.dir.path).p; /* a prefix of the name is no parent */
	CHECK_OK(config_load(&h.files, h.mem, &c, &err));
	CHECK(fchmodat(h.dir.fd, "global.toml", 0646, 0) == 0);
	CHECK_INT(config_load(&h.files, h.mem, &c, &err), -ERR_DENIED);
}

TEST(config_larger_than_its_limit_or_not_a_file_is_refused_at_once)
{
	auto_home struct home h = home_new(NULL, NULL, NULL);
	autofree char *big = mem_alloc(TOML_MAX + 1);
	struct config c;
	struct err err = { 0 };

	memset(big, '#', TOML_MAX + 1);
	test_write(&h.dir, "global.toml", str_of(big, TOML_MAX + 1));
	CHECK_INT(config_load(&h.files, h.mem, &c, &err), -ERR_LIMIT);
	CHECK(unlinkat(h.dir.fd, "global.toml", 0) == 0 && mkfifoat(h.dir.fd, "global.toml", 0600) == 0);
	CHECK_INT(config_load(&h.files, h.mem, &c, &err), -ERR_INVALID);
}

TEST(config_override_says_which_flag_was_wrong)
{
	auto_home struct home h = home_new(NULL, NULL, NULL);
	struct config c;
	struct err err = { 0 };

	CHECK_OK(config_load(&h.files, h.mem, &c, &err));
	CHECK(config_override(&c, "budget.max_usd", STR("much"), "--max-usd", &err) < 0);
	CHECK_STR(str_from(err.msg), STR("--max-usd: budget.max_usd: \"much\" is not a number"));
}

TEST(config_cases_that_others_stumbled_over)
{
	static const struct {
		const char *name;
		int line; /* 0: loads */
	} cases[] = {
		{ "C01/dotted.toml", 2 }, { "C01/dup_key.toml", 3 }, { "C01/dup_table.toml", 4 }, { "C01/redefine.toml", 3 },
		{ "C03/nested.toml", 2 }, { "C03/swallowed.toml", 2 }, { "C03/typo.toml", 2 }, { "C06/arr.toml", 1 },
		{ "C06/ctl.toml", 1 }, { "C06/esc.toml", 1 }, { "C06/nul.toml", 1 }, { "C06/open.toml", 1 },
		{ "C06/sur.toml", 1 }, { "C06/utf8.toml", 1 },
	};
	auto_home struct home h = home_new(NULL, NULL, NULL);
	const char *shared = getenv("AGENT6_SHARED"), *source = getenv("AGENT6_SOURCE");
	const char *base = shared ? shared : str_printf(h.mem, "%s/../shared", source ? source : ".").p;

	h.files.file = str_printf(h.mem, "%s/cases/open/%s", base, cases[0].name).p;
	if (access(h.files.file, R_OK) != 0)
		TEST_SKIP("cases/open is not there; AGENT6_SHARED names the directory that holds it");
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct config c;
		struct err err = { 0 };

		h.files.file = str_printf(h.mem, "%s/cases/open/%s", base, cases[i].name).p;
		CHECK(config_load(&h.files, h.mem, &c, &err) < 0);
		CHECK_INT(err.at.line, cases[i].line);
		CHECK(err.at.col > 0 && err.msg[0] != '\0');
	}
}

/* ------------------------------------------------------------------ presets */

static const struct config_origin *origin_of(struct config *c, const char *key)
{
	struct config_leaf leaf = { 0 };
	struct err err = { 0 };

	CHECK_OK(config_leaf(c, str_from(key), &leaf, &err));
	return leaf.origin;
}

TEST(config_a_preset_stands_just_above_the_layer_that_chose_it)
{
	static const struct {
		const char *why, *global, *repo, *file, *flag;
		int trigger, decision; /* as they end up */
	} cases[] = {
		{ "above the file that names it", "preset='ultra'\n[review]\ndecision='all'\n", NULL, NULL, "", REVIEW_BEFORE_FINISH, REVIEW_VETO },
		{ "below the next file", "preset='ultra'\n", "[review]\ndecision='all'\n", NULL, "", REVIEW_BEFORE_FINISH, REVIEW_ALL },
		{ "the highest choice is the only one", "preset='ultra'\n", "preset='quick'\n", NULL, "", REVIEW_OFF, REVIEW_ADVISORY },
		{ "an empty choice takes it back", "preset='ultra'\n", "preset=''\n", NULL, "", REVIEW_OFF, REVIEW_ADVISORY },
		{ "a flag is above both files", "[review]\ndecision='all'\n", "[review]\ntrigger='off'\n", NULL, "ultra", REVIEW_BEFORE_FINISH, REVIEW_VETO },
		{ "and below --config", NULL, NULL, "[review]\ndecision='quorum'\n", "ultra", REVIEW_BEFORE_FINISH, REVIEW_QUORUM },
		{ "a flag is the only choice", "preset='ultra'\n", NULL, NULL, "standard", REVIEW_OFF, REVIEW_ADVISORY },
		{ "one of ours is replaced whole", "[presets.ultra]\nreview.decision='quorum'\n", NULL, NULL, "ultra", REVIEW_OFF, REVIEW_QUORUM },
		{ "the higher definition is the one", "[presets.x]\nreview.trigger='before_finish'\n", "[presets.x]\nreview.decision='all'\n", NULL, "x", REVIEW_OFF, REVIEW_ALL },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_home struct home h = home_new(cases[i].global, cases[i].repo, cases[i].file);
		struct config c;
		struct err err = { 0 };

		h.files.preset = str_from(cases[i].flag);
		CHECK_OK(config_load(&h.files, h.mem, &c, &err));
		CHECK_INT(c.review.trigger, cases[i].trigger);
		CHECK_INT(c.review.decision, cases[i].decision);
	}
}

TEST(config_a_value_of_a_preset_says_that_it_is_one)
{
	auto_home struct home h = home_new("preset = 'mine'\n[presets.mine]\nreview.quorum = 3\nreview.trigger = 'off'\n", NULL, NULL);
	struct config c;
	struct err err = { 0 };

	CHECK_OK(config_load(&h.files, h.mem, &c, &err));
	CHECK_INT(c.review.quorum, 3);
	CHECK_INT(origin_of(&c, "review.quorum")->layer, CONFIG_PRESET);
	CHECK_STR(str_from(origin_of(&c, "review.quorum")->preset), STR("mine"));
	CHECK_STR(str_from(origin_of(&c, "review.quorum")->file), str_from(h.files.global));
	CHECK_INT(origin_of(&c, "review.quorum")->line, 3);
	CHECK_INT(origin_of(&c, "preset")->layer, CONFIG_GLOBAL);
	CHECK(!origin_of(&c, "preset")->preset);
}

TEST(config_a_preset_that_is_wrong_is_told_where_it_stands)
{
	static const struct {
		const char *why, *text, *want;
		int line;
	} bad[] = {
		{ "a name nobody defined", "preset = 'ultr'\n", "preset: \"ultr\" is not one of standard, quick, ultra, paranoid", 1 },
		{ "not chosen, yet wrong", "[presets.a]\nreview.triger = 'off'\n", "review.triger: unknown key; did you mean review.trigger?", 2 },
		{ "a value that is none", "[presets.a]\nreview.trigger = 'x'\n", "review.trigger: \"x\" is not one of off, on_verify_fail, before_finish, periodic", 2 },
		{ "what opens the jail", "[presets.a]\nsandbox.profile = 'none'\n", "sandbox.profile: not in a preset", 2 },
		{ "what is asked before a command", "[presets.a.sandbox]\nrun_commands = 'yes'\n", "sandbox.run_commands: not in a preset", 2 },
		{ "a program of the host", "[presets.a.providers.x]\ntoken_command = ['x']\n", "providers: not in a preset", 1 },
		{ "a preset of a preset", "[presets.a]\npreset = 'ultra'\n", "preset: not in a preset", 2 },
		{ "a preset that is no table", "[presets]\na = 1\n", "presets.a: expected a table", 2 },
		{ "a name that is none", "[presets.\"a b\"]\nreview.quorum = 2\n", "the name of a preset is of letters, digits, '-' and '_'", 1 },
		{ "presets that are no table", "presets = 1\n", "presets: unknown key", 1 },
	};

	for (size_t i = 0; i < COUNT(bad); i++) {
		auto_home struct home h = home_new(bad[i].text, NULL, NULL);
		struct config_faults all = config_check(&h.files, h.mem);

		CHECK_INT(all.n, 1);
		CHECK(str_starts(str_from(all.p[0].msg), str_from(bad[i].want)));
		CHECK_INT(all.p[0].at.line, bad[i].line);
	}
	auto_home struct home h = home_new(NULL, NULL, NULL);
	struct config c;
	struct err err = { 0 };

	h.files.preset = STR("nope");
	CHECK(config_load(&h.files, h.mem, &c, &err) < 0);
	CHECK(str_starts(str_from(err.msg), STR("--preset: \"nope\" is not one of standard")));
}
