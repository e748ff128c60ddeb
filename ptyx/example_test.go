//go:build unix

package ptyx_test

import (
	"context"
	"fmt"
	"io"

	"ptyctl/ptyx"
	"ptyctl/term"
)

// The example runs a program on a terminal. A session.Session on top adds cursors,
// waiting reads and exec.
func Example() {
	t, err := ptyx.Host{}.Open(context.Background(), term.Target{
		PTY:   term.PTY{Cols: 80, Rows: 24},
		Local: term.LocalOptions{Argv: []string{"sh", "-c", "stty size; exit 3"}},
	}, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = t.Close() }()
	output, _ := io.ReadAll(t)
	exit, _ := t.(term.Waiter).Wait()
	fmt.Printf("%q, exit code %d\n", output, exit.Code)
	// Output: "24 80\r\n", exit code 3
}
