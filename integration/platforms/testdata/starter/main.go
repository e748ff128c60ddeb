// Command starter runs a program with the console of this process as its three standard files. The pseudo-console of
// Wine 8 gives a program none of them, so that cmd.exe would end at once; that of Windows does.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

func main() {
	in, err := os.OpenFile("CONIN$", os.O_RDWR, 0)
	if err != nil {
		fail(err)
	}
	out, err := os.OpenFile("CONOUT$", os.O_RDWR, 0)
	if err != nil {
		fail(err)
	}
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, out
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
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
