// Command scale prints the tables of docs/cluster-scale.md:
//
//	cd cluster && go run ./sim/scale load          # paper: what clusters of four sizes ask of the servers
//	cd cluster && go run ./sim/scale storms        # simulation: an election, a lost site, a start of all nodes
//	cd cluster && go run ./sim/scale faults 2000   # simulation: so many histories of each fault
//	cd cluster && go run ./sim/scale clocks 2000   # simulation: so many histories of each jump of a server's clock
package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"

	"ptyctl/cluster/sim/load"
)

func main() {
	debug.SetGCPercent(1000) // histories need little memory, and make much garbage
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) == 1 {
		switch args[0] {
		case "load":
			fmt.Fprint(out, load.Table())
			return nil
		case "storms":
			storms(out)
			return nil
		}
	}
	if len(args) == 2 {
		n, err := strconv.Atoi(args[1])
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a number of histories", args[1])
		}
		switch args[0] {
		case "faults":
			return faults(out, n)
		case "clocks":
			clocks(out, n)
			return nil
		}
	}
	return fmt.Errorf("the arguments are %q: name a table, load, storms, faults N or clocks N", args)
}
