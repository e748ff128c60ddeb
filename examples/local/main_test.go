package main

import (
	"context"
	"fmt"
)

func Example() {
	text, exit, err := run(context.Background(), []string{"/bin/sh", "-c", script}, "Ada")
	fmt.Printf("%q %d %v\n", text, exit.Code, err)
	// Output: "Ada\r\nHello, Ada.\r\n" 3 <nil>
}
