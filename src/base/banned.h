/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* banned: functions that hide a length, a shell or an error; calling one does not compile.
 *
 * Shape    base.h includes it, so that no file can be without it. The functions are declared anew as deprecated, which -Werror
 *          turns into an error at the call.
 */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang cannot redeclare what an optimised or fortified C library defines inline; gcc keeps watch. */
#ifndef __clang__
#define BANNED(why) __attribute__((deprecated("banned: " why)))

char *strcpy(char *restrict, const char *restrict) BANNED("use buf_add");
char *strcat(char *restrict, const char *restrict) BANNED("use buf_add");
char *strncpy(char *restrict, const char *restrict, size_t) BANNED("use buf_add");
char *strncat(char *restrict, const char *restrict, size_t) BANNED("use buf_add");
char *strtok(char *restrict, const char *restrict) BANNED("use str_cut");
int sprintf(char *restrict, const char *restrict, ...) BANNED("use buf_addf or snprintf");
int vsprintf(char *restrict, const char *restrict, va_list) BANNED("use buf_addf or vsnprintf");
int atoi(const char *) BANNED("use str_to_i64");
long atol(const char *) BANNED("use str_to_i64");
int system(const char *) BANNED("use proc_run");
FILE *popen(const char *, const char *) BANNED("use proc_run");

#undef BANNED
#endif
#endif
