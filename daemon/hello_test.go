package daemon

import (
	"bufio"
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/bufpipe"
)

// A client with more variables than a daemon takes learns that, and not that there is no daemon.
func TestLongHello(t *testing.T) {
	near, far := bufpipe.New(1 << 16)
	defer far.Close()
	defer near.Close()
	h := Hello{Ask: AskServe, Environment: []Octets{Octets("LONG=" + strings.Repeat("x", maxLine))}}
	if _, _, err := greet(near, h); !errors.Is(err, errLong) || absent(err) || !strings.Contains(err.Error(), "local.inherit_env") {
		t.Errorf("greet with a long environment = %v, want an error that names the key", err)
	}
}

// Names and values of the client's system arrive as they are, whatever their bytes.
func TestHelloOctets(t *testing.T) {
	h := Hello{Dir: "/srv/caf\xe9", Environment: []Octets{"A=1", "B=\xff\x00\"", "C=caf\u00e9 \ufffd", ""}}
	var line bytes.Buffer
	if err := writeLine(&line, h); err != nil {
		t.Fatal(err)
	}
	text := line.String()
	var got Hello
	if err := readLine(bufio.NewReader(&line), &got); err != nil || got.Dir != h.Dir || !slices.Equal(got.Environment, h.Environment) {
		t.Errorf("%s arrives as %q, %q, %v, want %q, %q", text, got.Dir, got.Environment, err, h.Dir, h.Environment)
	}
	if !strings.Contains(text, `"A=1"`) {
		t.Errorf("the line is %s, want plain text as it is", text)
	}
}
