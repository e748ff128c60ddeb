// Package limits tests the built program when the system has no more of something: processes and threads, memory,
// disk, pseudo-terminals, ports. An action that fails is refused with its own code, started actions go on, no
// protection is left out, and all works again when the cause is gone. Descriptors and files that decide are tested
// in integration/ssh, the disk of the audit log in integration/policy.
//
// Each limit is one of the program under test alone: a resource limit, a namespace or a control group of its own.
package limits
