package daemon

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// The report of a daemon about its start reaches the client that has started it.
func TestReadiness(t *testing.T) {
	e := Engine{{"session.max_sessions", "9"}}
	for _, test := range []struct {
		said error
		want string // of the error; empty: none
	}{
		{nil, ""},
		{errors.New("the folder is full"), "was not started: the folder is full"},
		{Fits(prefix(Protocol)+e.Name(), "1.4.0", e), ""},
		{Fits("", "1.4.0", e), ""},
		{Fits("d-1-another", "1.4.0", e), "another configuration"},
	} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		(&Readiness{write}).Tell(test.said)
		err = awaitReady(t.Context(), read, Place{})
		_ = read.Close()
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("after the daemon has said %v the client has the error %v, want %q", test.said, err, test.want)
		}
		other, ok := errors.AsType[*OtherError](err)
		if _, is := errors.AsType[*OtherError](test.said); ok != is || ok && (other.Engine.Name() != e.Name() || other.Build != "1.4.0") {
			t.Errorf("after the daemon has said %v the client has %+v, want its configuration and version", test.said, other)
		}
	}
}
