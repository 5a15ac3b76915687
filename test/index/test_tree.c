/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "index/tree.h"
#include "test/lib/test.h"

#include <string.h>

/* path, text, name or "" for an outline, and what is told: "KIND NAME LINE[-END][ in PLACE][ minor];", uses as "use". */
static const struct {
	const char *why, *path, *text, *only, *want;
} cases[] = {
	{ "C: what has a body, not what is declared", "a.c",
		"#define MAX 3\nstruct p { int x; };\nstruct fwd;\nint proto(int);\nstatic int *f(void)\n{\n\treturn 0;\n}\n", "",
		"macro MAX 1-1;struct p 2-2;field x 2-2 in p minor;function f 5-8;" },
	{ "C: a use in a macro's text, none in a string or a comment", "a.c", "#define A(x) g(x) \"g\"\n/* g */ int h(void) { return g(\"g\"); }\n",
		"g", "use g 1:14;use g 2:30;" },
	{ "C++: methods belong to their class, outside of it too", "a.hpp",
		"namespace n { class K { int get() { return 1; } }; }\nint n::K::put(int a) { return a; }\n", "",
		"module n 1-1;class K 1-1 in n;method get 1-1 in K;method put 2-2 in K;" },
	{ "Python: a class, its methods, a constant; a variable is minor", "a.py",
		"LIMIT = 1\nlow = 2\nclass K:\n    def m(self):\n        x = 1\n        return x\n", "",
		"const LIMIT 1-1;variable low 2-2 minor;class K 3-6;method m 4-6 in K;" },
	{ "JavaScript: functions that are values", "a.mjs", "const A = 1, b = () => 2;\nlet c = 3;\nclass K { m() {} #p = 1; q = () => 1 }\n", "",
		"const A 1-1;function b 1-1;variable c 2-2 minor;class K 3-3;method m 3-3 in K;field #p 3-3 in K minor;method q 3-3 in K;" },
	{ "TypeScript: types", "a.ts", "export interface I { m(): void }\ntype T = string;\nenum E { X }\nabstract class C { abstract q(): void }\n", "",
		"interface I 1-1;method m 1-1 in I;type T 2-2;enum E 3-3;class C 4-4;method q 4-4 in C;" },
	{ "TSX", "a.tsx", "export const App = () => <b onClick={go}>{go}</b>;\nfunction go() {}\n", "go", "use go 1:38;use go 1:43;function go 2-2;" },
	{ "Go: kinds of types, receivers", "a.go", "package p\ntype S struct { N string }\ntype I interface { D() }\nfunc (s *S) M() {}\nfunc F() {}\n", "",
		"struct S 2-2;field N 2-2 in S minor;interface I 3-3;method D 3-3 in I minor;method M 4-4 in S;function F 5-5;" },
	{ "Rust: an impl tells nothing itself", "a.rs", "struct S;\nimpl T for Vec<S> { fn m(&self) {} }\nmacro_rules! mm { () => {} }\nfn f() {}\n", "",
		"struct S 1-1;method m 2-2 in Vec;macro mm 3-3;function f 4-4;" },
	{ "Java", "A.java", "class A { int f = 1; A() {} void go() { go(); } enum E { X } }\n", "",
		"class A 1-1;field f 1-1 in A minor;method A 1-1 in A;method go 1-1 in A;enum E 1-1 in A;const X 1-1 in E minor;" },
	{ "C#", "a.cs", "namespace A.B { class C { void M() { void L() {} } } struct S {} }\n", "",
		"module B 1-1;class C 1-1 in B;method M 1-1 in C;function L 1-1 in M;struct S 1-1 in B;" },
	{ "Ruby", "a.rb", "module M\n  class A::B\n    V = 1\n    def m; end\n    def self.s; end\n  end\nend\n", "",
		"module M 1-7;class B 2-6 in M;const V 3-3 in B;method m 4-4 in B;method s 5-5 in B;" },
	{ "PHP", "a.php", "<b><?php\nnamespace A\\B;\nclass C { const K = 1; public $p = 2; function m() {} }\nfunction f() {}\n", "",
		"module B 2-2;class C 3-3;const K 3-3 in C;field p 3-3 in C minor;method m 3-3 in C;function f 4-4;" },
	{ "Bash: the first word is a name, the others are none", "a.sh", "foo() { bar foo; }\nfunction bar { foo; }\n", "foo", "function foo 1-1;use foo 2:16;" },
	{ "JSON: the keys of the outermost object", "a.json", "{\"a\": {\"b\": 1}, \"my-key\": [{\"c\": 1}]}\n", "", "const a 1-1;const my-key 1-1;" },
	{ "an empty file", "a.py", "", "", "" },
	{ "no file of ours", "a.txt", "class K", "", "(none)" },
};

struct told {
	struct buf text;
	struct str all, only;
};

static void tell(void *self, const struct symbol *s)
{
	struct told *t = self;
	struct err err = { 0 };

	CHECK(s->name.p >= t->all.p && s->name.p + s->name.n <= t->all.p + t->all.n);
	if (!s->kind && str_eq(s->name, t->only)) { /* a use has its place, and stands there */
		CHECK_OK(buf_addf(&t->text, &err, "use " STR_FMT " %d:%d;", STR_ARG(s->name), (int)s->line, (int)s->col));
		return;
	}
	/* A definition is a use of its name as well, at the same place, which the search makes one of. */
	CHECK_OK(buf_addf(&t->text, &err, "%s " STR_FMT " %d-%d", s->kind, STR_ARG(s->name), (int)s->line, (int)s->end));
	if (s->in.n > 0)
		CHECK_OK(buf_addf(&t->text, &err, " in " STR_FMT, STR_ARG(s->in)));
	CHECK_OK(buf_addf(&t->text, &err, "%s;", s->minor ? " minor" : ""));
}

/* As the search does: a use where a definition was told is dropped. */
static void tell_once(void *self, const struct symbol *s)
{
	struct told *t = self;
	static const char *const kinds[] = { "function ", "method ", "class ", "struct " };

	for (size_t i = 0; !s->kind && i < COUNT(kinds); i++) {
		auto_buf struct buf def = BUF_MAX(256);
		struct err err = { 0 };

		CHECK_OK(buf_addf(&def, &err, "%s" STR_FMT " %d-", kinds[i], STR_ARG(t->only), (int)s->line));
		if (str_find(buf_str(&t->text), buf_str(&def)) < t->text.n)
			return;
	}
	tell(self, s);
}

TEST(tree_sees_what_each_language_defines_and_uses)
{
	struct tree *tree = tree_new(10000);

	if (!tree_knows(STR("a.c"))) {
		tree_free(tree);
		TEST_SKIP("this build has no grammars: tools/fetch-grammars grammars, then configure again");
	}
	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_buf struct buf got = BUF_MAX(4096);
		struct told t = { .text = got, .all = str_from(cases[i].text) };
		struct err err = { 0 };

		t.all = str_of(cases[i].text, strlen(cases[i].text));
		t.only = str_from(cases[i].only);
		int r = tree_read(tree, str_from(cases[i].path), t.all, t.only, tell_once, &t, &err);
		if (r == 0)
			CHECK_OK(buf_addz(&t.text, "(none)", &err));
		CHECK(r >= 0);
		got = t.text;
		test_check_str(buf_str(&got), str_from(cases[i].want), cases[i].why, __FILE__, __LINE__);
	}
	tree_free(tree);
}

TEST(tree_gives_up_on_a_file_that_takes_too_long)
{
	struct tree *tree = tree_new(1);
	size_t n = 100000;
	autofree char *text = mem_alloc(2 * n);
	struct told t = { .text = BUF_MAX(16) };
	struct err err = { 0 };

	if (!tree_knows(STR("a.c"))) {
		tree_free(tree);
		TEST_SKIP("this build has no grammars: tools/fetch-grammars grammars, then configure again");
	}
	memset(text, '(', n);
	memset(text + n, ')', n);
	CHECK_INT(tree_read(tree, STR("a.c"), str_of(text, 2 * n), STR(""), tell, &t, &err), -ERR_TIMEOUT);
	/* and the next one is read as if nothing had been */
	t.all = STR("int f(void) { return 0; }");
	t.text = BUF_MAX(64);
	CHECK_INT(tree_read(tree, STR("a.c"), t.all, STR(""), tell, &t, &err), 1);
	CHECK_STR(buf_str(&t.text), STR("function f 1-1;"));
	buf_fini(&t.text);
	tree_free(tree);
}
