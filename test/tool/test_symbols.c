/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/lib/test.h"
#include "tool/symbols.h"

#include <string.h>

static void add(void *self, const struct symbol *s)
{
	struct buf *b = self;

	CHECK(buf_addf(b, ERR_DISCARD, "%s%s:" STR_FMT ":%lld.%lld", b->n > 0 ? " " : "", s->kind ? s->kind : "use", STR_ARG(s->name),
		(long long)s->line, (long long)s->col) == 0);
}

static const struct {
	const char *file, *text, *want;
} definitions[] = {
	{ "a.c", "#define MAX(a) a\nstatic int f(int a, char *b)\n{\n\tif (g(a)) {\n\t}\n\treturn h(b);\n}\nint g(int);\n", "macro:MAX:1.9 function:f:2.12" },
	{ "a.c", "struct point {\n\tint x;\n};\nstruct point *make(struct point p) { return 0; }\ntypedef struct { int a; } box;\n"
		 "typedef int (*cb)(void);\nenum color { RED };\nunion u { int a; };\n",
		"struct:point:1.8 function:make:4.15 type:box:5.27 type:cb:6.15 enum:color:7.6 struct:u:8.7" },
	{ "a.c", "/* int no(void) { } */\n// int no2(void) { }\nchar *s = \"int no3(void) {\";\nchar c = '{';\nint yes(void) {}\n", "function:yes:5.5" },
	{ "a.c", "__attribute__((noreturn)) void die(const char *m) __attribute__((cold));\nvoid die(const char *m) { for (;;) {} }\n",
		"function:die:2.6" },
	{ "a.cpp", "namespace n {\nclass A : public B {\npublic:\n\tA(int x) : y(x) {}\n\tint get() const { return y; }\n\tint no();\n};\n"
		   "int A::more() noexcept { return R\"x(int no() {})x\"[0]; }\nusing T = int;\nenum class E { X };\n}\n",
		"module:n:1.11 class:A:2.7 method:A:4.2 method:get:5.6 method:more:8.8 type:T:9.7 enum:E:10.12" },
	{ "a.py", "LIMIT = 3\nlimit = 3\nclass A(B):\n    def m(self):\n        def inner(): pass\n    X = 1\ndef f():\n    '''def no(): pass'''\n"
		  "    return \"def no2():\" # def no3()\nasync def g(): pass\n",
		"const:LIMIT:1.1 class:A:3.7 method:m:4.9 method:inner:5.13 function:f:7.5 function:g:10.11" },
	{ "a.js", "function f(a) { return /function no() {/.test(a); }\nclass A { constructor() {} get b() { return `function no2() {`; } }\n"
		  "const k = 1;\nconst g = (x) => x;\nconst h = async () => {};\nexport default function* gen() { const inner = 2; }\nobj.class = 1;\n",
		"function:f:1.10 class:A:2.7 method:constructor:2.11 method:b:2.32 const:k:3.7 function:g:4.7 function:h:5.7 function:gen:6.26" },
	{ "a.ts", "interface I { a: string; m(): void }\ntype T = string;\nenum E { A }\nnamespace N { }\nexport const f = (a: number): string => '';\n"
		  "abstract class C { private run(a: string): Promise<void> { } }\n",
		"interface:I:1.11 type:T:2.6 enum:E:3.6 module:N:4.11 function:f:5.14 class:C:6.16 method:run:6.28" },
	{ "a.go", "package p\nconst A = 1\nconst (\n\tB = iota\n\tC\n)\ntype S struct{}\ntype I interface{}\ntype F func()\nfunc f() {}\nfunc (s *S) m() {}\n"
		  "var s = `func no() {}`\n",
		"const:A:2.7 const:B:4.2 const:C:5.2 struct:S:7.6 interface:I:8.6 type:F:9.6 function:f:10.6 method:m:11.13" },
	{ "a.rs", "mod m { pub fn f<'a>(x: &'a str) -> char { 'x' } }\nimpl S { fn m(&self) {} }\nstruct S;\nenum E { A }\ntrait T { fn t(); }\n"
		  "macro_rules! mac { () => {} }\n/* /* fn no() {} */ fn no2() {} */\nconst fn cf() {}\nstatic X: &str = r#\"fn no3() {}\"#;\n",
		"module:m:1.5 function:f:1.16 method:m:2.13 struct:S:3.8 enum:E:4.6 trait:T:5.7 method:t:5.14 macro:mac:6.14 function:cf:8.10 "
		"const:X:9.8" },
	{ "A.java", "public class A<T> extends B {\n\tA() { super(); }\n\tint f(int a) throws E { return g(a); }\n\tinterface I { void m(); }\n"
		    "\t@Override(\"x\") void o() { new C() { }; }\n}\nenum E { X }\nrecord R(int a) { }\n",
		"class:A:1.14 method:A:2.2 method:f:3.6 interface:I:4.12 method:m:4.21 method:o:5.22 enum:E:7.6 class:R:8.8" },
	{ "a.cs", "namespace N {\nclass A {\n\tpublic int F(int a) { return G(a); }\n\tstring s = @\"class No { \"\"\";\n}\nstruct S { }\ninterface I { void M(); }\n}\n",
		"module:N:1.11 class:A:2.7 method:F:3.13 struct:S:6.8 interface:I:7.11 method:M:7.20" },
	{ "a.rb", "module M\n  class A\n    def f; end\n    def self.g\n      \"def no\" # def no2\n    end\n  end\nend\n",
		"module:M:1.8 class:A:2.9 method:f:3.9 method:g:4.14" },
	{ "a.php", "<?php\nfunction f() { $a = 'function no() {'; }\nclass A { const K = 1; public function m() {} }\ninterface I {}\ntrait T {}\n# class No {}\n",
		"function:f:2.10 class:A:3.7 const:K:3.17 method:m:3.40 interface:I:4.11 trait:T:5.7" },
	{ "a.sh", "f() {\n\techo $# \"g() {\" # h() {\n}\nfunction k { :; }\n", "function:f:1.1 function:k:4.10" },
	{ "a.json", "{\"name\": \"x\", \"scripts\": {\"inner\": 1}, \"version\": \"1\"}\n", "const:name:1.2 const:scripts:1.15 const:version:1.40" },
};

TEST(definitions_are_found_as_each_language_writes_them)
{
	for (size_t i = 0; i < COUNT(definitions); i++) {
		auto_buf struct buf got = BUF_MAX(64 * 1024);
		const struct symbol_lang *lang = symbols_lang(str_from(definitions[i].file));

		CHECK(lang != NULL);
		symbols_scan(lang, str_from(definitions[i].text), STR(""), add, &got);
		if (!str_eqz(buf_str(&got), definitions[i].want))
			print_message("row %zu (%s):\n got  " STR_FMT "\n want %s\n", i, definitions[i].file, STR_ARG(buf_str(&got)),
				definitions[i].want);
	}
	for (size_t i = 0; i < COUNT(definitions); i++) {
		auto_buf struct buf got = BUF_MAX(64 * 1024);

		symbols_scan(symbols_lang(str_from(definitions[i].file)), str_from(definitions[i].text), STR(""), add, &got);
		CHECK_STR(buf_str(&got), str_from(definitions[i].want));
	}
}

TEST(uses_of_a_name_are_told_and_comments_and_strings_are_none)
{
	static const char text[] = "int f(void) { return 1; } /* f */\nint g(void)\n{\n\treturn f() + h(\"f\"); // f\n}\nint ff;\n";
	auto_buf struct buf got = BUF_MAX(4096);

	symbols_scan(symbols_lang(STR("x.c")), str_from(text), STR("f"), add, &got);
	CHECK_STR(buf_str(&got), STR("function:f:1.5 use:f:4.9"));
	CHECK(symbols_lang(STR("notes.txt")) == NULL && symbols_word_ok(STR("a_1")) && !symbols_word_ok(STR("1a")) && !symbols_word_ok(STR("a b")));
}

/* Whatever the bytes are, every cut of them is read to its end. */
TEST(a_file_that_is_no_program_still_ends)
{
	static const char *const names[] = { "a.c", "a.cpp", "a.py", "a.js", "a.ts", "a.go", "a.rs", "A.java", "a.cs", "a.rb", "a.php", "a.sh", "a.json" };

	for (size_t k = 0; k < COUNT(names); k++)
		for (size_t i = 0; i < COUNT(definitions); i++) {
			struct str text = str_from(definitions[i].text);

			for (size_t n = 0; n <= text.n; n++) {
				auto_buf struct buf got = BUF_MAX(64 * 1024);

				symbols_scan(symbols_lang(str_from(names[k])), str_head(text, n), STR(""), add, &got);
			}
		}
}
