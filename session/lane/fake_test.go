package lane_test

import (
	"os"
	"testing"

	"ptyctl/internal/leaktest"
	"ptyctl/session/internal/sessiontest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

const typed = sessiontest.Typed

// Helpers for all tests of sessions.
type (
	plain = sessiontest.Plain
	shell = sessiontest.Shell
	diary = sessiontest.Diary
)

var (
	watch      = sessiontest.Watch
	tellState  = sessiontest.TellState
	start      = sessiontest.Start
	put        = sessiontest.Put
	take       = sessiontest.Take
	task       = sessiontest.Task
	re         = sessiontest.Re
	wantKind   = sessiontest.WantKind
	since      = sessiontest.Since
	widePipe   = sessiontest.WidePipe
	narrowPipe = sessiontest.NarrowPipe
	typeIn     = sessiontest.TypeIn
	run        = sessiontest.Run
)
