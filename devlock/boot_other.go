//go:build !linux

package devlock

import "time"

// boot returns 0: only Linux is known to need another clock than that of package time.
func boot() time.Duration { return 0 }
