package telnet

import (
	"testing"

	"ptyctl/internal/lab"
)

// Tests of each kind pass through a daemon as well. All do so in task test:long.
func TestThroughDaemon(t *testing.T) {
	t.Parallel()
	lab.RunThroughDaemon(t,
		"TestReopen",
		"TestTelnetRawOverMCP",
	)
}
