package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// The socket is one of this process, with a machine behind it that knows one command.
func Example() {
	folder, err := os.MkdirTemp("", "console")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	socket := filepath.Join(folder, "vm1.sock")
	line, err := net.Listen("unix", socket)
	if err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		machine(line)
	}()
	defer func() {
		line.Close()
		<-done
	}()

	output, err := run(context.Background(), socket, "show version")
	fmt.Printf("%q %v\n", output, err)
	// Output: "version 1.0\n" <nil>
}

// machine echoes the typed text, answers one command and shows its prompt again, until the line is closed.
func machine(line net.Listener) {
	conn, err := line.Accept()
	if err != nil {
		return
	}
	defer conn.Close()
	for keyboard := bufio.NewReader(conn); ; {
		typed, err := keyboard.ReadString('\r')
		if err != nil {
			return
		}
		typed = strings.TrimSuffix(typed, "\r")
		io.WriteString(conn, typed+"\r\n")
		if typed == "show version" {
			io.WriteString(conn, "version 1.0\r\n")
		}
		io.WriteString(conn, "vm1# ")
	}
}
