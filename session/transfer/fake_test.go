package transfer_test

import (
	"os"
	"testing"

	"ptyctl/internal/leaktest"
	"ptyctl/session/internal/sessiontest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// What all tests of sessions share.
type (
	plain = sessiontest.Plain
	diary = sessiontest.Diary
)

var (
	watch     = sessiontest.Watch
	tellState = sessiontest.TellState
	start     = sessiontest.Start
	wantKind  = sessiontest.WantKind
	since     = sessiontest.Since
)
