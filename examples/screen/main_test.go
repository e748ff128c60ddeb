package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// menu asks for the position of the cursor, as many programs do, and draws a menu once it has the answer. Any key moves
// the selection.
const menu = `stty raw -echo
printf '\033[6n'
dd bs=1 count=6 >/dev/null 2>&1
printf '\033[?1049h\033[2;3HNew\033[3;3H\033[7mOpen\033[m\033[4;3HQuit\033[?25l'
dd bs=1 count=1 >/dev/null 2>&1
printf '\033[3;3HOpen\033[4;3H\033[7mQuit\033[m'
dd bs=1 count=1 >/dev/null 2>&1
`

func Example() {
	if err := run(context.Background(), os.Stdout, "Quit", "j", []string{"/bin/sh", "-c", menu}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// screen v2 80x24 alt cursor 4,7 hidden
	// (1 empty)
	//  2|   New
	//  3|   Open
	// <- reverse
	//  4|   Quit
	// (20 empty)
	// screen v3 80x24 alt cursor 4,7 hidden since v2
	//  3|   Open
	//  4|   Quit
	// <- reverse
}

func Example_replay() {
	folder, err := os.MkdirTemp("", "recording")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "typescript")
	if err := os.WriteFile(file, []byte("$ seq 2\r\n1\r\n2\r\n$ "), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	if err := replay(os.Stdout, file, "9"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// screen v1 80x24 cursor 2,1
	//  1| $ seq 2
	// (23 empty)
	// screen v2 80x24 cursor 4,3 since v1
	//  2| 1
	//  3| 2
	//  4| $
}
