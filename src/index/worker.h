/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* worker: what agent6-index does: one request on stdin, one answer on stdout, then it is gone.
 *
 * Shape    It holds nothing: the workspace is read-only in its jail, and its death costs one answer.
 * Errors   Told as {"error"} on stdout; the status is 1 then.
 * Source   tool/search.h
 */
#ifndef INDEX_WORKER_H
#define INDEX_WORKER_H

int index_worker_main(void);

#endif
