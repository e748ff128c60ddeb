package local

import (
	"os"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/internal/r2fake"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == r2fake.Flag { // the program of the tool set r2
		os.Exit(r2fake.Serve(os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	lab.OneMachine = map[string]string{
		"TestHealth":        "the health of a node counts its own sessions",
		"TestThroughDaemon": "a daemon is of one machine",
	}
	lab.Record = true
	os.Exit(lab.Main(m, map[string]func() error{"peek": peek}))
}
