//go:build !linux && !darwin && !windows

package loss

import "time"

// setUserTimeout does nothing: this system has no such limit, and its own one counts.
func setUserTimeout(uintptr, time.Duration) {}
