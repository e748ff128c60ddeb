package ssh

import (
	"os"
	"testing"

	"ptyctl/internal/lab"
)

func TestMain(m *testing.M) {
	lab.Record = true
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
