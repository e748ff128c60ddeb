package main

import (
	"fmt"
	"os"

	"ptyctl/internal/leaktest"
)

// main prints each secret that it finds with the file, and a summary.
func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: secrets FOLDER")
		os.Exit(2)
	}
	r, err := leaktest.Search(os.Args[1])
	for _, l := range r.Leaks {
		fmt.Fprintln(os.Stderr, l)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "secrets:", err)
		os.Exit(1)
	}
	fmt.Fprintf(
		os.Stdout,
		"%d secrets of %d test programs, searched for in %d outputs of %d bytes: %d found\n",
		r.Secrets,
		r.Trails,
		r.Outputs,
		r.Bytes,
		len(r.Leaks),
	)
	if len(r.Leaks) > 0 {
		os.Exit(1)
	}
}
