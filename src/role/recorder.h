/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* recorder: the only process that writes a run's record. It checks every record before it writes it and
 * can reach nothing but the run's directory.
 *
 * Shape    `agent6 --role recorder`: descriptor 3 is the channel to the monitor, 4 the one to the agent.
 *          WIRE_OPEN in (the run's directory, the bucket it stands in when a discarded run shall vanish
 *          whole, and the repository's memories/ in a run that may write notes), WIRE_OPENED out; then records from both until WIRE_CLOSE or until the monitor
 *          is gone. What the agent sent before WIRE_CLOSE arrived is still written.
 * Memory   One message at a time; the store's bounded buffers.
 * Errors   A peer that breaks a rule is dropped, and the record says so. A write that fails ends the
 *          record: WIRE_LOST and WIRE_LOST_UP say why, nothing is written by halves or afterwards.
 * Units    The agent may send RECORDER_RATE records a second, with bursts; a faster one is read slower.
 * Source   docs/architecture.md, "The record".
 */
#ifndef ROLE_RECORDER_H
#define ROLE_RECORDER_H

#define RECORDER_RATE  20000
#define RECORDER_BURST 40000

int role_recorder_main(void); /* exit status */

#endif
