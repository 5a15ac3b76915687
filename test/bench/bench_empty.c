/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* bench_empty: the floor of every command: a dynamically linked program that does nothing. */
int main(void)
{
	return 0;
}
