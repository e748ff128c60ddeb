package ssh

import (
	"os"
	"testing"

	"ptyctl/internal/lab"
)

func TestMain(m *testing.M) {
	lab.Record = true
	lab.OneMachine = map[string]string{
		"TestReload":        "two nodes would write into one file of logs",
		"TestThroughDaemon": "a daemon is of one machine",
	}
	os.Exit(lab.Main(m, map[string]func() error{"proxy": proxyProgram}))
}

// Tests of each kind pass through a daemon as well. All do so in task test:long.
func TestThroughDaemon(t *testing.T) {
	t.Parallel()
	lab.RunThroughDaemon(t,
		"TestReopen",
		"TestReload",
		"TestProxyCommandEndsWithPtyctl",
		"TestFiles",
		"TestInteractiveLogin",
	)
}
