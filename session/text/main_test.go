package text_test

import (
	"os"
	"testing"

	"ptyctl/internal/leaktest"
	"ptyctl/session/internal/sessiontest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// Helpers for all tests of sessions.
type diary = sessiontest.Diary

var (
	start = sessiontest.Start
	put   = sessiontest.Put
	task  = sessiontest.Task
	re    = sessiontest.Re
	since = sessiontest.Since
)
