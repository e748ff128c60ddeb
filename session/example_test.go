package session_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"regexp"
	"time"

	"ptyctl/session"
)

// A pipe is a terminal with a far side in this program.
type pipe struct{ net.Conn }

func (pipe) Resize(cols, rows int) error { return nil }

// Type a command, and read its output until the prompt is back.
func Example() {
	near, far := net.Pipe()
	go func() { // a shell that knows one command
		line, _ := bufio.NewReader(far).ReadString('\r')
		io.WriteString(far, line+"\nLinux\r\n$ ")
	}()

	ctx := context.Background()
	s := session.New(pipe{near}, session.Options{})
	defer s.Close(ctx, session.CloseOptions{})

	w, err := s.Write(ctx, []byte("uname\r"), session.WriteOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	chunk := s.Read(ctx, session.ReadRequest{
		Cursor:  w.Cursor,
		Until:   regexp.MustCompile(`\$ $`),
		Timeout: 5 * time.Second,
	})
	fmt.Printf("%s: %q\n", chunk.Reason, chunk.Data)
	// Output: matched: "uname\r\nLinux\r\n$ "
}
