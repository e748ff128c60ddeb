//go:build !long

package httpserve_test

import "time"

// lockoutTime is how long strangers attack in each way; a minute with the build tag long.
const lockoutTime = 500 * time.Millisecond

// lockoutTries is how often a client tries to send a request; once with the build tag long.
const lockoutTries = 5

// clients is how many MCP sessions may exist at a time; MaxMCPSessions with the build tag long.
const clients = 1000
