// Package limits tests the built program when the system runs out of something: processes and threads, memory, disk,
// descriptors, pseudo-terminals, ports, name servers. An action that fails is refused with its own code, started
// actions go on, no protection is left out, and all works again when the cause is gone. Begin with table_test.go: it
// lists the resources that can run out, and says where the rest is tested.
//
// Each limit is one of the program under test alone: a resource limit, a namespace or a control group of its own.
package limits
