package ptyx

import "golang.org/x/sys/unix"

// forkCalls has the calls of 64-bit and 32-bit programs.
var forkCalls = []abi{
	{unix.AUDIT_ARCH_AARCH64, 1<<32 - 1, []forkCall{
		{number: unix.SYS_CLONE, flagged: true}, {number: unix.SYS_CLONE3, hidden: true},
	}},
	{unix.AUDIT_ARCH_ARM, 1<<32 - 1, legacy},
}
