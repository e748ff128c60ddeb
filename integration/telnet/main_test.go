package telnet

import (
	"os"
	"testing"

	"ptyctl/internal/lab"
)

func TestMain(m *testing.M) {
	lab.Record = true
	lab.OneMachine = map[string]string{"TestThroughDaemon": "a daemon is of one machine"}
	os.Exit(lab.Main(m, nil))
}
