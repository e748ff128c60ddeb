package main

import (
	"context"
	"fmt"
	"os"
)

func Example() {
	fmt.Println(run(context.Background(), os.Stdout, "/bin/sh", "-c", "exit 7"))
	fmt.Println(run(context.Background(), os.Stdout, "/bin/rm", "-rf", "/nowhere"))
	// Output:
	// begin /bin/sh -c 'exit 7'
	// end 7
	// <nil>
	// /bin/rm -rf /nowhere may not run here
}
