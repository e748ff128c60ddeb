package display_test

import (
	"os"
	"testing"

	"ptyctl/internal/leaktest"
	"ptyctl/session/internal/sessiontest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// Helpers for all tests of sessions.
var (
	start    = sessiontest.Start
	put      = sessiontest.Put
	take     = sessiontest.Take
	re       = sessiontest.Re
	wantKind = sessiontest.WantKind
)
