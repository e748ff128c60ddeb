//go:build long

package httpserve_test

import (
	"time"

	"ptyctl/mcpapi/httpserve"
)

// lockoutTime is how long strangers attack in each way.
const lockoutTime = time.Minute

// lockoutTries is how often a client tries to send a request.
const lockoutTries = 1

// clients is how many MCP sessions may exist at a time.
const clients = httpserve.MaxMCPSessions
