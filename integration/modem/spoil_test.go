package modem

import (
	"bufio"
	"io"
	"os"
	"os/exec"
)

// spoil runs the program of its arguments on the terminal, over a line that spoils bytes: in each direction it flips a bit
// of byte 700, loses byte 3,500, and doubles byte 6,000.
func spoil() error {
	for _, mode := range []string{"raw", "sane"} {
		stty := exec.Command("stty", mode)
		stty.Stdin = os.Stdin
		if mode == "raw" {
			stty.Args = append(stty.Args, "-echo")
			if err := stty.Run(); err != nil {
				return err
			}
			continue
		}
		defer func() { _ = stty.Run() }()
	}
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { // ends with the process: nothing ends a read of the terminal
		spoilt(in, os.Stdin)
		_ = in.Close()
	}()
	spoilt(os.Stdout, out)
	return cmd.Wait()
}

// spoilt copies a stream with its faults.
func spoilt(to io.Writer, from io.Reader) {
	r := bufio.NewReader(from)
	for n := 1; ; n++ {
		b, err := r.ReadByte()
		if err != nil {
			return
		}
		p := []byte{b}
		switch n {
		case 700:
			p[0] ^= 0x10
		case 3500:
			p = nil
		case 6000:
			p = append(p, b)
		}
		if _, err := to.Write(p); err != nil {
			return
		}
	}
}
