/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* A room that has no file yet is built from this one, so that every room is a library. */
extern const int base_nothing;
const int base_nothing = 0;
