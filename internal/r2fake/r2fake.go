// Package r2fake is a program for tests that speaks the pipe protocol of radare2 and rizin: a NUL when it is ready, and
// one behind the answer to each line. Of their commands it has only ij; it has others that tests need.
package r2fake

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Flag is the argument by which a test binary knows that it is to be the program.
const Flag = "-q0"

// Serve answers commands until the input ends. The last argument is the file. With a file that begins with "slow",
// Serve is never ready; with "missing", it ends at once. With "rz", its command that prints a text is echo; with
// "mute", it has no such command.
func Serve(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	file := args[len(args)-1]
	if strings.HasPrefix(file, "missing") {
		fmt.Fprintf(stderr, "Cannot open '%s'\n", file)
		return 1
	}
	fmt.Fprintln(stderr, "WARN: a warning at the start")
	in := bufio.NewReader(stdin)
	if !strings.HasPrefix(file, "slow") {
		fmt.Fprint(stdout, "\x00")
	}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return 0
		}
		name, arg, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if name == "exit" {
			n, _ := strconv.Atoi(arg)
			fmt.Fprintln(stderr, "it gives up")
			return n
		}
		switch {
		case name == "?e" && (strings.HasPrefix(file, "rz") || strings.HasPrefix(file, "mute")):
			name = "none"
		case name == "echo" && strings.HasPrefix(file, "rz"):
			name = "?e"
		}
		answer(name, arg, args, stdout, stderr)
		if in.Buffered() > 0 {
			fmt.Fprint(stdout, "OVERLAP: another command came before the answer to ", name)
		}
		fmt.Fprint(stdout, "\x00")
	}
}

// answer runs a command.
func answer(name, arg string, args []string, stdout, stderr io.Writer) {
	n, _ := strconv.Atoi(arg)
	switch name {
	case "?e":
		fmt.Fprintln(stdout, arg)
	case "ij":
		text, _ := json.Marshal(map[string][]string{"argv": args[1:]})
		fmt.Fprintln(stdout, string(text))
	case "bad":
		fmt.Fprintln(stdout, `{"open": [1, 2`)
	case "warn":
		fmt.Fprintln(stderr, "WARN:", arg)
	case "nul":
		fmt.Fprint(stdout, "before\x00behind\x00\x00")
	case "say":
		fmt.Fprintln(stdout, arg)
	case "colour":
		fmt.Fprint(stdout, "\x1b[31mred\x1b[0m \xff\x1b]0;title\x07\n")
	case "flood":
		for line := range n {
			fmt.Fprintf(stdout, "%07d\n", line)
		}
	case "jflood":
		fmt.Fprint(stdout, "[0", strings.Repeat(",1", n), "]\n")
	case "wait": // for a file
		for {
			if _, err := os.Stat(arg); err == nil {
				fmt.Fprintln(stdout, "waited")
				return
			}
			time.Sleep(5 * time.Millisecond) // it is a program of the tests
		}
	case "child":
		cmd := exec.Command("sleep", "1000."+arg)
		if err := cmd.Start(); err == nil {
			fmt.Fprintln(stdout, cmd.Process.Pid)
		}
	}
}
