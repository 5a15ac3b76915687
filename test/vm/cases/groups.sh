# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
# The control group of a cell: what it limits, and that it goes.
case_ "an ordinary command runs" 'as_user $SH "agent6 exec -- echo hello" | grep -q hello'
case_ "check sandbox says that a group can be made" 'as_user $SH "agent6 check sandbox" | grep -a memory_group | grep -q 128'
case_ "check sandbox says why where nothing is delegated" \
	'as_user $G/other "agent6 check sandbox" | grep -a memory_group | grep -q "is not delegated"'
case_ "a command runs where nothing is delegated" 'as_user $G/other "agent6 exec -- echo hello" | grep -q hello'

group_cases strict /dev/shm
