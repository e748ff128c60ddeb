package daemon

import (
	"errors"
	"strings"
	"testing"

	"ptyctl/internal/bufpipe"
)

// A client with more variables than a daemon takes learns that, and not that there is no daemon.
func TestLongHello(t *testing.T) {
	near, far := bufpipe.New(1 << 16)
	defer far.Close()
	defer near.Close()
	h := Hello{Ask: AskServe, Environment: []string{"LONG=" + strings.Repeat("x", maxLine)}}
	if _, _, err := greet(near, h); !errors.Is(err, errLong) || absent(err) || !strings.Contains(err.Error(), "local.inherit_env") {
		t.Errorf("greet with a long environment = %v, want an error that names the key", err)
	}
}
