package transfer_test

import (
	"os"
	"testing"

	"ptyctl/internal/leaktest"
	"ptyctl/session/internal/sessiontest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// Helpers for all tests of sessions.
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
