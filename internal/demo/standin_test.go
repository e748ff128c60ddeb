package demo

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"ptyctl/internal/sshserver"
)

// The stand-in must answer each line as a shell does.
func TestStandInTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, typing := io.Pipe()
		windows := make(chan sshserver.Window)
		var out bytes.Buffer
		over := make(chan sshserver.Exit)
		go func() {
			over <- standIn(context.Background(), &sshserver.Request{
				Shell: true, Stdin: in, Stdout: &out, Windows: windows, PTY: &sshserver.PTY{},
			})
		}()
		typed := func(text, want string) {
			t.Helper()
			_, _ = io.WriteString(typing, text)
			synctest.Wait()
			if got := out.String(); got != want {
				t.Errorf("after %q the terminal has shown %q, want %q", text, got, want)
			}
			out.Reset()
		}
		typed("", "$ ")
		typed(lineAnswer+"\r", lineAnswer+"\r\n42 is the answer\r\n$ ")
		typed(lineEndless+"\r", lineEndless+"\r\nready\r\n")
		typed("x\x03", "^C\r\n$ ")
		typed(lineStatus+"\r", lineStatus+"\r\nstatus 130\r\n$ ")
		typed(lineStatus+"\r", lineStatus+"\r\nstatus 0\r\n$ ")
		typed("ls\x03", "ls^C\r\n$ ")
		typed("ls\r", "ls\r\nthe demonstration has no such command\r\n$ ")
		typed(lineSize+"\r", lineSize+"\r\n")
		windows <- sshserver.Window{Cols: 80, Rows: 30}
		typed("", "")
		windows <- sshserver.Window{Cols: 100, Rows: 30}
		typed("", "30 100\r\n$ ")
		_ = typing.Close()
		if exit := <-over; exit != (sshserver.Exit{}) {
			t.Errorf("the shell has ended with %+v, want status 0", exit)
		}
	})
}

func TestStandInCommand(t *testing.T) {
	for command, want := range map[string]struct {
		status   uint32
		out, err string
	}{
		lineStreams: {7, "to stdout\n", "to stderr\n"},
		"ls":        {127, "", "the demonstration has no such command\n"},
	} {
		var out, errs strings.Builder
		exit := standIn(t.Context(), &sshserver.Request{Command: command, Stdout: &out, Stderr: &errs})
		if exit.Status != want.status || out.String() != want.out || errs.String() != want.err {
			t.Errorf("%q: %+v, %q, %q, want %+v", command, exit, out.String(), errs.String(), want)
		}
	}
}
