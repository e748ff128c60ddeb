package access_test

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
	start    = sessiontest.Start
	put      = sessiontest.Put
	take     = sessiontest.Take
	logTo    = sessiontest.LogTo
	manage   = sessiontest.Manage
	target   = sessiontest.Target
	dialed   = sessiontest.Dialed
	task     = sessiontest.Task
	wantKind = sessiontest.WantKind
	since    = sessiontest.Since
	calls    = sessiontest.Calls
)

// second and third return the error of a call with two or three results.
func second[T any](_ T, err error) error        { return err }
func third[A, B any](_ A, _ B, err error) error { return err }
