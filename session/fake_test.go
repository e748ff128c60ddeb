package session_test

import (
	"os"
	"testing"

	"ptyctl/internal/leaktest"
	"ptyctl/session/internal/sessiontest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

const typed = sessiontest.Typed

// What all tests of sessions share.
type (
	plain = sessiontest.Plain
	shell = sessiontest.Shell
	diary = sessiontest.Diary

	execFunc = sessiontest.ExecFunc
)

var (
	watch     = sessiontest.Watch
	logTo     = sessiontest.LogTo
	tellState = sessiontest.TellState
	newTeller = sessiontest.NewTeller
	start     = sessiontest.Start
	startExec = sessiontest.StartExec
	manage    = sessiontest.Manage
	target    = sessiontest.Target
	dialed    = sessiontest.Dialed
	put       = sessiontest.Put
	take      = sessiontest.Take
	task      = sessiontest.Task
	re        = sessiontest.Re
	wantKind  = sessiontest.WantKind
	since     = sessiontest.Since
	widePipe  = sessiontest.WidePipe
	run       = sessiontest.Run
	calls     = sessiontest.Calls
)
