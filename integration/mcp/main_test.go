package mcp

import (
	"os"
	"testing"

	"ptyctl/internal/lab"
)

func TestMain(m *testing.M) {
	lab.Record = true
	lab.OneMachine = map[string]string{
		"TestPersonLogsIn":         "a secret is typed on a page on the loopback of the machine with the session",
		"TestEarlierConfiguration": "the configuration names the control socket, which is of one process",
		"TestThroughDaemon":        "a daemon is of one machine",
	}
	os.Exit(lab.Main(m, map[string]func() error{"codes": serveCodes}))
}
