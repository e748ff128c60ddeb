//go:build long

package httpserve_test

import "time"

// lockoutTime is how long strangers attack in each way.
const lockoutTime = time.Minute
