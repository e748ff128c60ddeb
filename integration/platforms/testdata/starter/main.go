// Command starter runs a program with the console of this process as its three standard files:
//
//	starter run PROGRAM [ARGUMENT ...]
//
// The pseudo-console of Wine 8 gives a program none of them, so that cmd.exe would end at once; that of Windows does. For
// the tests of what a program leaves behind, it is such a program, too:
//
//	starter leave NAME   starts "starter idle NAME", and ends with status 3
//	starter keep NAME    starts it, and stays
//	starter idle NAME    does nothing, until it is ended
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

func main() {
	if len(os.Args) < 3 {
		fail(errors.New("starter needs two arguments"))
	}
	switch mode, name := os.Args[1], os.Args[2]; mode {
	case "run":
		run(name, os.Args[3:])
	case "idle":
		time.Sleep(time.Hour)
	default:
		self, err := os.Executable()
		if err != nil {
			fail(err)
		}
		if err := exec.Command(self, "idle", name).Start(); err != nil {
			fail(err)
		}
		fmt.Println("started")
		if mode == "leave" {
			os.Exit(3)
		}
		time.Sleep(time.Hour)
	}
}

// run runs a program on the console, and ends with its status.
func run(program string, args []string) {
	in, err := os.OpenFile("CONIN$", os.O_RDWR, 0)
	if err != nil {
		fail(err)
	}
	out, err := os.OpenFile("CONOUT$", os.O_RDWR, 0)
	if err != nil {
		fail(err)
	}
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, out
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(125)
}
