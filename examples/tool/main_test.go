package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
)

func Example() {
	fromClient, client := io.Pipe()
	answers, toClient := io.Pipe()
	done := make(chan error)
	go func() { done <- serve(context.Background(), fromClient, toClient) }()
	lines := bufio.NewScanner(answers)
	ask := func(message string) string {
		fmt.Fprintln(client, message)
		lines.Scan()
		return lines.Text()
	}
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"example","version":"1"}}}`)
	fmt.Fprintln(client, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	answer := ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"disk_room","arguments":{"path":"/proc/self"}}}`)
	fmt.Println(strings.Contains(answer, ` /proc\"}`))
	answer = ask(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"disk_room","arguments":{}}}`)
	fmt.Println(strings.Contains(answer, "path is missing for disk_room; a correct call: disk_room"))
	client.Close()
	fmt.Println(<-done)
	// Output:
	// true
	// true
	// <nil>
}
