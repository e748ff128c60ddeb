package lockmgr_test

import (
	"errors"
	"fmt"
	"time"

	"ptyctl/lockmgr"
)

func Example() {
	var leases lockmgr.Table[string]

	if _, err := leases.Acquire("web1", "task-7", time.Minute); err != nil {
		fmt.Println(err)
		return
	}
	_, err := leases.Acquire("web1", "task-8", time.Minute)
	if held, ok := errors.AsType[*lockmgr.HeldError[string]](err); ok {
		fmt.Println("task-8 has to wait for", held.Lease.Holder)
	}

	// task-7 is allowed to write, but before the bytes go out it loses the lease.
	epoch, _ := leases.Check("web1", "task-7")
	_, previous := leases.TakeOver("web1", "task-8", time.Minute)
	fmt.Println("task-8 took over from", previous.Holder)

	err = leases.CheckEpoch("web1", "task-7", epoch)
	if held, ok := errors.AsType[*lockmgr.HeldError[string]](err); ok {
		fmt.Println("task-7 writes nothing: the lease is with", held.Lease.Holder)
	}
	// Output:
	// task-8 has to wait for task-7
	// task-8 took over from task-7
	// task-7 writes nothing: the lease is with task-8
}
