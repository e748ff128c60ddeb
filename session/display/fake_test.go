package display_test

import (
	"os"
	"testing"

	"ptyctl/internal/leaktest"
	"ptyctl/session/internal/sessiontest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// What all tests of sessions share.
var (
	start    = sessiontest.Start
	put      = sessiontest.Put
	take     = sessiontest.Take
	re       = sessiontest.Re
	wantKind = sessiontest.WantKind
)
