package devlock

import (
	"time"

	"golang.org/x/sys/unix"
)

// boot reads CLOCK_BOOTTIME. Every kernel since 2.6.39 has it.
func boot() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
