package mcp

import (
	"os"
	"testing"

	"ptyctl/internal/lab"
)

func TestMain(m *testing.M) {
	lab.Record = true
	const atClient = "the tools of other programs keep their sessions at the node of the client"
	lab.OneMachine = map[string]string{
		"TestAITerm.*":             atClient,
		"TestKPTY":                 atClient,
		"TestPTYToolset.*":         atClient,
		"TestSecondCallOfSets":     atClient,
		"TestPersonLogsIn":         "a secret is typed on a page on the loopback of the machine with the session",
		"TestEarlierConfiguration": "the configuration names the control socket, which is of one process",
		"TestThroughDaemon":        "a daemon is of one machine",
	}
	os.Exit(lab.Main(m, map[string]func() error{"codes": serveCodes}))
}
