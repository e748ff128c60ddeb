package ptyx

import "golang.org/x/sys/unix"

// forkCalls has the calls of 64-bit and 32-bit programs. A number with bit 30 set
// belongs to x32.
var forkCalls = []abi{
	{unix.AUDIT_ARCH_X86_64, 1<<30 - 1, []forkCall{
		{
			number: unix.SYS_FORK,
		}, {number: unix.SYS_VFORK}, {number: unix.SYS_CLONE, flagged: true}, {number: unix.SYS_CLONE3, hidden: true},
	}},
	{unix.AUDIT_ARCH_I386, 1<<32 - 1, legacy},
}
