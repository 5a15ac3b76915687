/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/gitop.h"
#include "test/agent/world.h"

#include <string.h>

#define FIN "[\"finish_run\",{\"summary\":\"done\"}]"
#define VER "[\"run_verify_command\",{}]"
#define RUN "[\"run_command\",{\"argv\":[\"a\"]}]"
#define MAKE(file)                                                                                           \
	"[\"apply_edit\",{\"path\":\"" file "\",\"edits\":[{\"kind\":\"create\",\"new_string\":\"x\\n\"}]}]"
#define CHANGE(file, from, to)                                                                                       \
	"[\"apply_edit\",{\"path\":\"" file "\",\"edits\":[{\"old_string\":\"" from "\",\"new_string\":\"" to "\"}]}]"
#define DELETE(file) "[\"apply_patch\",{\"patch\":\"*** Begin Patch\\n*** Delete File: " file "\\n*** End Patch\\n\"}]"
#define TURN(calls) "{\"calls\":[" calls "]}"

static struct str words[] = { { "make", 4 }, { "test", 4 } };

static void repository(struct world *w)
{
	world_init(w);
	w->params.is_git = 1;
	CHECK_INT(world_git(w, "init", "-q", "-b", "main"), 0);
	test_write(&w->dir, "old", STR("1\n"));
	CHECK_INT(world_git(w, "add", "old", NULL, NULL), 0);
	CHECK_INT(world_git(w, "commit", "-q", "-m", "first"), 0);
}

static struct str chain_file(struct world *w, const char *name)
{
	return world_git_out(w, str_printf(w->mem, "refs/agent6/sunny-otter-K4Q7B2/head:%s", name).p);
}

TEST(each_editing_step_without_a_gate_is_a_commit_beside_the_branch)
{
	auto_world struct world w;

	repository(&w);
	test_write(&w.dir, "mine", STR("not yours\n")); /* untracked at the start */
	world_play(&w, "{\"turns\":[{\"text\":\"Let me see.\\nAdding the file.\",\"calls\":[" MAKE(
			       "a") "]}," TURN(MAKE("b")) "," TURN(FIN) "]}");
	CHECK_STR(w.reason, STR("finish_run"));
	CHECK_INT(w.code, 0);
	CHECK_INT(world_count(&w, "loop.auto_commit"), 2);
	CHECK_STR(json_get_str(world_event(&w, "loop.auto_commit", 0), "subject"),
		STR("agent6 iter 1: Adding the file."));
	CHECK(str_find(json_get_str(world_event(&w, "diff.updated", 0), "patch"), STR("+x")) > 0);
	CHECK_STR(chain_file(&w, "b"), STR("x\n"));
	CHECK_STR(chain_file(&w, "mine"), STR(""));
	CHECK_STR(world_git_out(&w, "main:a"), STR("")); /* the person's branch stays */
	CHECK_STR(json_get_str(world_event(&w, "run.end", 0), "branch"), STR("agent6/sunny-otter-K4Q7B2"));
	CHECK_INT(json_get_int(world_event(&w, "run.end", 0), "commits", 0), 2);
	CHECK_STR(json_get_str(w.manifest, "run_branch"), STR("agent6/sunny-otter-K4Q7B2"));
}

TEST(with_a_gate_a_step_is_what_the_gate_saw)
{
	auto_world struct world w;

	repository(&w);
	w.params.verify_command = (struct str_list){ words, 2 };
	world_play(&w, "{\"turns\":[" TURN(MAKE("a")) "," TURN(VER "," MAKE("b")) "," TURN(FIN) "]}");
	CHECK_INT(w.code, 4); /* b was never verified */
	CHECK_INT(world_count(&w, "loop.auto_commit"), 2);
	CHECK_STR(json_get_str(world_event(&w, "loop.auto_commit", 0), "subject"),
		STR("agent6 iter 2: verify passed"));
	CHECK_STR(
		json_get_str(world_event(&w, "loop.auto_commit", 1), "subject"), STR("checkpoint (iter 3)"));
	CHECK_STR(world_git_out(&w, "refs/agent6/sunny-otter-K4Q7B2/head~1:b"), STR(""));
	CHECK_STR(chain_file(&w, "b"), STR("x\n"));
}

TEST(a_command_that_changes_files_spoils_a_green_gate_and_one_that_does_not_leaves_it)
{
	static const struct {
		const char *jobs, *verified;
		int code;
	} cases[] = {
		{ "[{},{}]", "passed", 0 },
		{ "[{},{\"write\":\"made\"}]", "unverified", 4 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_world struct world w;
		auto_buf struct buf s = BUF_MAX(4096);

		repository(&w);
		w.params.verify_command = (struct str_list){ words, 2 };
		CHECK(buf_addf(&s, ERR_DISCARD,
			      "{\"turns\":[" TURN(MAKE("a") "," VER) "," TURN(RUN) "," TURN(
				      FIN) "],\"jobs\":%s}",
			      cases[i].jobs) == 0);
		world_play(&w, buf_str(&s).p);
		CHECK_STR(
			json_get_str(world_event(&w, "run.end", 0), "verified"), str_from(cases[i].verified));
		CHECK_INT(w.code, cases[i].code);
	}
}

TEST(a_gate_that_was_red_before_the_run_is_known)
{
	auto_world struct world w;

	repository(&w);
	w.params.verify_command = (struct str_list){ words, 2 };
	w.params.require_verify_to_finish = 1;
	world_play(&w, "{\"turns\":[" TURN(VER) "," TURN(MAKE("a") "," VER) "," TURN(
			       FIN) "],\"jobs\":[{\"code\":1},{\"code\":1}]}");
	CHECK_STR(w.reason, STR("gate_red_at_base"));
	CHECK_INT(w.code, 4);
	CHECK_STR(json_get_str(world_event(&w, "run.end", 0), "baseline"), STR("red"));
	CHECK(json_is_false(json_object_get(world_event(&w, "loop.baseline", 0), "ok")));
}

TEST(uncommitted_changes_are_taken_along_only_when_the_person_says_so)
{
	static const struct {
		int attended, clean;
		const char *answer;
		bool starts;
	} cases[] = {
		{ 0, 1, "", false },
		{ 1, 1, "cancel", false },
		{ 1, 1, "include them in the first step", true },
		{ 0, 0, "", true },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_world struct world w;
		auto_buf struct buf s = BUF_MAX(4096);

		repository(&w);
		test_write(&w.dir, "old", STR("2\n"));
		w.params.attended = cases[i].attended;
		w.params.require_clean_worktree = cases[i].clean;
		CHECK(buf_addf(&s, ERR_DISCARD,
			      "{\"answer\":\"%s\",\"turns\":[" TURN(MAKE("a")) "," TURN(FIN) "]}",
			      cases[i].answer) == 0);
		world_play(&w, buf_str(&s).p);
		CHECK_INT(w.discard, !cases[i].starts);
		CHECK_INT(w.code, cases[i].starts ? 0 : 2);
		if (cases[i].starts)
			CHECK_STR(chain_file(&w, "old"), STR("2\n"));
		else
			CHECK_INT(json_array_size(w.events) + json_array_size(w.messages), 0);
		if (!cases[i].attended && cases[i].clean)
			CHECK(str_find(w.message, STR("1 file is changed and not committed: old")) == 0);
	}
}

TEST(uncommitted_changes_that_are_the_newest_runs_edits_are_said_to_be)
{
	static const struct { const char *why, *then[2], *want; bool taken; } cases[] = {
		{ "they lie there as it left them", { NULL },
			"old (it is run sunny-otter-K4Q7B2's: agent6 runs merge sunny-otter-K4Q7B2 takes it over, git restore drops it); commit", false },
		{ "another file is its too", { "more", "2\n" },
			"more, old (they are run sunny-otter-K4Q7B2's: agent6 runs merge sunny-otter-K4Q7B2 takes them over, git restore drops them); commit", false },
		{ "the person went on with one", { "old", "3\n" }, "old; commit", false },
		{ "another file is not", { "other", "3\n" }, "old, other; commit", false },
		{ "all of it was taken over, and then changed", { "old", "1\n" }, "old; commit", true },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_world struct world w, v;

		repository(&w);
		world_init(&v);
		test_write(&w.dir, "more", STR("1\n"));
		test_write(&w.dir, "other", STR("1\n"));
		CHECK_INT(world_git(&w, "add", "more", "other", NULL), 0);
		CHECK_INT(world_git(&w, "commit", "-q", "-m", "second"), 0);
		world_play(&w, cases[i].then[0] && strcmp(cases[i].then[0], "more") == 0
			? "{\"turns\":[" TURN(CHANGE("old", "1", "2") "," CHANGE("more", "1", "2")) "," TURN(FIN) "]}"
			: "{\"turns\":[" TURN(CHANGE("old", "1", "2")) "," TURN(FIN) "]}");
		CHECK_INT(world_count(&w, "loop.auto_commit"), 1);
		if (cases[i].taken)
			CHECK_INT(world_git(&w, "commit", "-qam", "taken", NULL), 0);
		if (cases[i].then[0])
			test_write(&w.dir, cases[i].then[0], str_from(cases[i].then[1]));
		v.params = w.params;
		v.params.run_id = STR("next-otter-K4Q7B2");
		v.params.require_clean_worktree = 1;
		v.ws = w.dir.path;
		world_play(&v, "{\"turns\":[" TURN(FIN) "]}");
		CHECK_INT(v.discard, 1);
		CHECK_STR(str_head(str_skip(v.message, str_find(v.message, STR(": ")) + 2), strlen(cases[i].want)), str_from(cases[i].want));
	}
}

TEST(an_answer_about_uncommitted_changes_that_is_none_is_asked_for_again_and_not_for_ever)
{
	static const struct {
		const char *script; /* its answers */
		int asked;
		bool starts;
	} cases[] = {
		{ "\"answers\":[\"what?\",\"3\"],\"answer\":\"include them in the first step\"", 3, true },
		{ "\"answers\":[\"what?\"],\"answer\":\"cancel\"", 2, false },
		{ "\"answers\":[\"what?\"],\"answer\":\"\"", 2, false }, /* the end of the input */
		{ "\"answer\":\"what?\"", 5, false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_world struct world w;
		auto_buf struct buf s = BUF_MAX(4096);

		repository(&w);
		test_write(&w.dir, "old", STR("2\n"));
		w.params.attended = w.params.require_clean_worktree = 1;
		CHECK(buf_addf(&s, ERR_DISCARD, "{%s,\"turns\":[" TURN(MAKE("a")) "," TURN(FIN) "]}", cases[i].script) == 0);
		world_play(&w, buf_str(&s).p);
		CHECK_INT(w.asked, cases[i].asked);
		CHECK_INT(w.discard, !cases[i].starts);
		CHECK_INT(w.code, cases[i].starts ? 0 : 2);
	}
}

TEST(a_run_without_an_identity_is_refused_and_told_which_keys_to_set)
{
	auto_world struct world w;

	repository(&w);
	w.params.git_email = STR("");
	world_play(&w, "{\"turns\":[]}");
	CHECK(w.discard && w.code == 2);
	CHECK(str_find(w.message, STR("git.commit.email")) < w.message.n);
	CHECK(str_find(w.message, STR("git.commit.name")) == w.message.n);
}

TEST(a_repository_without_a_commit_gets_its_chain_from_nothing)
{
	auto_world struct world w;

	world_init(&w);
	w.params.is_git = 1;
	CHECK_INT(world_git(&w, "init", "-q", "-b", "main"), 0);
	world_play(&w, "{\"turns\":[" TURN(MAKE("a")) "," TURN(FIN) "]}");
	CHECK_INT(w.code, 0);
	CHECK_STR(chain_file(&w, "a"), STR("x\n"));
}

TEST(a_directory_that_is_no_repository_is_worked_in_and_that_is_said)
{
	auto_world struct world w;

	world_init(&w);
	world_play(&w, "{\"turns\":[" TURN(MAKE("a")) "," TURN(FIN) "]}");
	CHECK_INT(w.code, 0);
	CHECK(str_find(json_get_str(world_event(&w, "run.notice", 0), "text"), STR("not a git repository")) >
		0);
	CHECK(file_is(w.dir.fd, "a", STR("x\n")));
	CHECK_INT(world_count(&w, "loop.auto_commit"), 0);
}

TEST(an_operators_stop_leaves_edits_uncommitted_and_names_them)
{
	auto_world struct world w;
	const json_t *end;

	repository(&w);
	w.params.verify_command = (struct str_list){ words, 2 };
	world_play(&w, "{\"turns\":[{\"act\":\"stop\",\"calls\":[" MAKE("a") "]}]}");
	CHECK_STR(w.reason, STR("steer_abort"));
	end = world_event(&w, "run.end", 0);
	CHECK_INT(world_count(&w, "loop.auto_commit"), 0);
	CHECK_INT(json_get_int(end, "uncommitted", 0), 1);
	CHECK_STR(json_view(json_array_get(json_object_get(end, "uncommitted_files"), 0)), STR("a"));
}

TEST(only_what_is_in_no_step_is_named_as_left_behind)
{
	auto_world struct world w;
	const json_t *end;

	repository(&w);
	w.params.verify_command = (struct str_list){ words, 2 };
	world_play(
		&w, "{\"turns\":[" TURN(MAKE("a") "," VER) ",{\"act\":\"stop\",\"calls\":[" MAKE("b") "]}]}");
	end = world_event(&w, "run.end", 0);
	CHECK_INT(world_count(&w, "loop.auto_commit"), 1);
	CHECK_INT(json_get_int(end, "uncommitted", -1), 1);
	CHECK_INT(json_array_size(json_object_get(end, "uncommitted_files")), 1);
	CHECK_STR(json_view(json_array_get(json_object_get(end, "uncommitted_files"), 0)), STR("b"));
}

static struct str names_of(const json_t *end, const char *key, struct arena *mem)
{
	auto_buf struct buf b = BUF_MAX(4096);
	const json_t *list = json_object_get(end, key);

	for (size_t i = 0; i < json_array_size(list); i++)
		CHECK(buf_addf(&b, ERR_DISCARD, "%s" STR_FMT, i > 0 ? " " : "", STR_ARG(json_view(json_array_get(list, i)))) == 0);
	return str_dup(mem, buf_str(&b));
}

TEST(edits_of_files_that_were_untracked_when_the_run_began_are_named_and_on_no_branch)
{
	static const struct { const char *why, *turns, *want; int commits, code; } cases[] = {
		{ "one alone", TURN(CHANGE("mine.c", "1", "2") "," VER), "mine.c", 0, 5 },
		{ "twice is once", TURN(CHANGE("mine.c", "1", "2")) "," TURN(CHANGE("mine.c", "2", "3") "," VER), "mine.c", 0, 5 },
		{ "beside work that is committed", TURN(CHANGE("mine.c", "1", "2") "," MAKE("a") "," VER), "mine.c", 1, 0 },
		{ "a repository of its own", TURN(CHANGE("sub/in.c", "1", "2") "," VER), "sub/in.c", 0, 5 },
		{ "a name that is quoted", TURN(CHANGE("a\\tb", "1", "2") "," VER), "\"a\\tb\"", 0, 5 },
		{ "a tracked file", TURN(CHANGE("old", "1", "2") "," VER), "", 1, 0 },
		{ "a new file", TURN(MAKE("a") "," VER), "", 1, 0 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_world struct world w;
		const json_t *end;

		repository(&w);
		test_write(&w.dir, "mine.c", STR("1\n"));
		test_write(&w.dir, "a\tb", STR("1\n"));
		CHECK_INT(world_git(&w, "init", "-q", "sub", NULL), 0);
		test_write(&w.dir, "sub/in.c", STR("1\n"));
		w.params.verify_command = (struct str_list){ words, 2 };
		world_play(&w, str_printf(w.mem, "{\"turns\":[%s," TURN(FIN) "]}", cases[i].turns).p);
		end = world_event(&w, "run.end", 0);
		CHECK_STR(names_of(end, "edited_untracked", w.mem), str_from(cases[i].want));
		CHECK_INT(w.code, cases[i].code);
		CHECK_INT(world_count(&w, "loop.auto_commit"), cases[i].commits);
		CHECK_STR(json_get_str(end, "verified"), STR("passed"));
	}
}

TEST(what_else_becomes_of_files_that_were_untracked_is_named_until_the_person_saw_to_it)
{
	for (int brought_back = 0; brought_back < 2; brought_back++) {
		static struct str two[] = { { "log", 3 }, { "mine.c", 6 } };
		auto_world struct world w, v;
		const json_t *end;

		repository(&w);
		world_init(&v);
		test_write(&w.dir, "mine.c", STR("1\n"));
		test_write(&w.dir, "log", STR("1\n"));
		world_play(&w, "{\"turns\":[" TURN(RUN) "," TURN(DELETE("mine.c")) "," TURN(FIN) "],\"jobs\":[{\"write\":\"log\"}]}");
		end = world_event(&w, "run.end", 0);
		CHECK_STR(names_of(end, "edited_untracked", w.mem), STR("log"));
		CHECK_STR(names_of(end, "deleted_untracked", w.mem), STR("mine.c"));
		if (brought_back) {
			test_write(&w.dir, "mine.c", STR("1\n"));
			CHECK_INT(world_git(&w, "add", "log", NULL, NULL), 0);
			CHECK_INT(world_git(&w, "commit", "-q", "-m", "mine"), 0);
		}
		v.prior = &w;
		v.params = w.params;
		v.params.resume = 1;
		v.params.untracked = (struct str_list){ two, 2 };
		v.ws = w.dir.path;
		world_play(&v, "{\"turns\":[" TURN(FIN) "]}");
		end = world_event(&v, "run.end", 0);
		CHECK_STR(names_of(end, "edited_untracked", w.mem), brought_back ? STR("") : STR("log"));
		CHECK_STR(names_of(end, "deleted_untracked", w.mem), brought_back ? STR("") : STR("mine.c"));
	}
}

TEST(a_later_leg_remembers_which_untracked_files_were_edited_until_the_person_commits_them)
{
	for (int committed = 0; committed < 2; committed++) {
		auto_world struct world w, v;

		repository(&w);
		world_init(&v);
		test_write(&w.dir, "mine.c", STR("1\n"));
		world_play(&w, "{\"turns\":[{\"act\":\"stop\",\"calls\":[" CHANGE("mine.c", "1", "2") "]}]}");
		CHECK_STR(names_of(world_event(&w, "run.end", 0), "edited_untracked", w.mem), STR("mine.c"));
		if (committed) {
			CHECK_INT(world_git(&w, "add", "mine.c", NULL, NULL), 0);
			CHECK_INT(world_git(&w, "commit", "-q", "-m", "mine"), 0);
		}
		v.prior = &w;
		v.params = w.params;
		v.params.resume = 1;
		v.params.untracked = (struct str_list){ &STR("mine.c"), 1 };
		v.ws = w.dir.path;
		world_play(&v, "{\"turns\":[" TURN(FIN) "]}");
		CHECK_STR(names_of(world_event(&v, "run.end", 0), "edited_untracked", w.mem), committed ? STR("") : STR("mine.c"));
	}
}

TEST(an_end_names_what_the_gate_runs_and_the_change_touches)
{
	static struct str script[] = { { "sh", 2 }, { "./gate.sh", 9 } }, untracked[] = { { "sh", 2 }, { "mine.sh", 7 } };
	static const struct { const char *why, *turns; struct str *gate; const char *want; } cases[] = {
		{ "committed", TURN(CHANGE("gate.sh", "1", "2") "," VER), script, "gate.sh" },
		{ "as it was", TURN(CHANGE("old", "1", "2") "," VER), script, "" },
		{ "taken back", TURN(CHANGE("gate.sh", "1", "2") "," VER) "," TURN(CHANGE("gate.sh", "2", "1") "," VER), script, "" },
		{ "in no step yet", "{\"act\":\"stop\",\"calls\":[" CHANGE("gate.sh", "1", "2") "]}", script, "gate.sh" },
		{ "in no commit", TURN(CHANGE("mine.sh", "1", "2") "," VER), untracked, "mine.sh" },
		{ "named by no gate", TURN(CHANGE("gate.sh", "1", "2") "," VER), words, "" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_world struct world w;

		repository(&w);
		test_write(&w.dir, "gate.sh", STR("1\n"));
		CHECK_INT(world_git(&w, "add", "gate.sh", NULL, NULL), 0);
		CHECK_INT(world_git(&w, "commit", "-q", "-m", "gate"), 0);
		test_write(&w.dir, "mine.sh", STR("1\n"));
		w.params.verify_command = (struct str_list){ cases[i].gate, 2 };
		world_play(&w, str_printf(w.mem, "{\"turns\":[%s," TURN(FIN) "]}", cases[i].turns).p);
		CHECK_STR(names_of(world_event(&w, "run.end", 0), "gate_touched", w.mem), str_from(cases[i].want));
	}
}

TEST(a_run_that_stops_by_itself_leaves_a_checkpoint)
{
	auto_world struct world w;

	repository(&w);
	w.params.verify_command = (struct str_list){ words, 2 };
	w.params.max_iterations = 1;
	world_play(&w, "{\"turns\":[" TURN(MAKE("a")) "]}");
	CHECK_STR(w.reason, STR("max_iterations"));
	CHECK_STR(
		json_get_str(world_event(&w, "loop.auto_commit", 0), "subject"), STR("checkpoint (iter 1)"));
	CHECK_INT(json_get_int(world_event(&w, "run.end", 0), "uncommitted", -1), 0);
}

TEST(without_commit_per_step_nothing_is_committed)
{
	auto_world struct world w;

	repository(&w);
	w.params.commit_per_step = 0;
	world_play(&w, "{\"turns\":[" TURN(MAKE("a")) "," TURN(FIN) "]}");
	CHECK_INT(w.code, 0);
	CHECK_INT(world_count(&w, "loop.auto_commit"), 0);
	CHECK_INT(json_get_int(world_event(&w, "run.end", 0), "uncommitted", 0), 1);
}

TEST(what_the_person_adds_between_two_legs_is_theirs_and_what_the_first_leg_left_is_not)
{
	auto_world struct world w, v;

	repository(&w);
	world_init(&v);
	w.params.verify_command = (struct str_list){ words, 2 };
	world_play(&w, "{\"turns\":[{\"act\":\"stop\",\"calls\":[" MAKE("a") "]}]}");
	CHECK_STR(w.reason, STR("steer_abort"));
	test_write(&w.dir, "mine", STR("not yours\n"));
	v.prior = &w;
	v.params = w.params;
	v.params.resume = 1;
	v.ws = w.dir.path; /* the same tree */
	world_play(&v, "{\"turns\":[" TURN(VER) "," TURN(FIN) "]}");
	CHECK_STR(v.reason, STR("finish_run"));
	CHECK_STR(chain_file(&w, "a"), STR("x\n"));
	CHECK_STR(chain_file(&w, "mine"), STR(""));
	CHECK_STR(json_get_str(world_event(&v, "run.end", 0), "verified"), STR("passed"));
}

/* What an ordinary repository's files tell is not asked of git; where its configuration may name a program, everything is. */
TEST(a_leg_asks_git_for_each_thing_once_before_its_first_request)
{
	static const struct {
		enum git_op op;
		int first, again, unknown; /* times: in a first leg, in the next one, and there with a driver configured */
	} cases[] = {
		{ GIT_DRIVERS, 0, 0, 1 },
		{ GIT_STATUS, 1, 1, 1 },
		{ GIT_RESOLVE, 0, 0, 1 },
		{ GIT_INDEX_RESET, 1, 1, 1 },
		{ GIT_FILES, 0, 0, 0 }, /* a conversation that goes on says it already */
		{ GIT_LOG, 1, 0, 0 },
	};
	auto_world struct world w, v, u;

	repository(&w);
	world_init(&v);
	world_init(&u);
	w.params.verify_command = (struct str_list){ words, 2 };
	world_play(&w, "{\"turns\":[{\"act\":\"stop\",\"calls\":[" MAKE("a") "]}]}");
	CHECK_STR(w.reason, STR("steer_abort"));
	v.prior = &w;
	v.params = w.params;
	v.params.resume = 1;
	v.ws = w.dir.path;
	world_play(&v, "{\"turns\":[{\"act\":\"stop\",\"calls\":[]}]}");
	CHECK_INT(world_git(&w, "config", "filter.x.clean", "cat", NULL), 0);
	u.prior = &v;
	u.params = v.params;
	u.ws = w.dir.path;
	world_play(&u, "{\"turns\":[{\"act\":\"stop\",\"calls\":[]}]}");
	for (size_t i = 0; i < COUNT(cases); i++) {
		CHECK_INT(w.gits[cases[i].op], cases[i].first);
		CHECK_INT(v.gits[cases[i].op], cases[i].again);
		CHECK_INT(u.gits[cases[i].op], cases[i].unknown);
	}
}

/* What is hidden is empty for the agent and not for git: a file that looks plain may name a driver. */
TEST(where_something_is_hidden_git_is_asked_what_its_files_tell)
{
	static struct str hidden[] = { { "/ws/.git/config", 15 } };
	auto_world struct world w;

	repository(&w);
	w.params.hide_paths = (struct str_list){ hidden, COUNT(hidden) };
	world_play(&w, "{\"turns\":[{\"act\":\"stop\",\"calls\":[" MAKE("a") "]}]}");
	CHECK_INT(w.gits[GIT_DRIVERS], 1);
	CHECK_INT(w.gits[GIT_FILES], 1);
}

/* A command left what git waits for: it was waited for once, and the run can be resumed when that is gone. */
TEST(a_git_that_does_not_end_ends_the_run_and_no_further_one_is_waited_for)
{
	auto_world struct world w, v;

	repository(&w);
	world_init(&v);
	w.late_git = GIT_INDEX_SCAN;
	world_play(&w, "{\"turns\":[{\"calls\":[" MAKE("a") "," MAKE("b") "]},{\"calls\":[" MAKE("c") "]}]}");
	CHECK_STR(w.reason, STR("git_overdue"));
	CHECK(str_starts(w.message, STR("git did not end within ")));
	CHECK(str_ends(w.message, STR(" s; is there a FIFO or a very large .gitignore or .gitattributes?")));
	CHECK_INT(w.code, 1);
	CHECK_INT(w.gits[GIT_INDEX_SCAN], 1);
	v.prior = &w;
	v.params = w.params;
	v.params.resume = 1;
	v.ws = w.dir.path;
	world_play(&v, "{\"turns\":[" TURN(FIN) "]}");
	CHECK_STR(v.reason, STR("finish_run"));
	CHECK_STR(chain_file(&w, "b"), STR("x\n"));
}
