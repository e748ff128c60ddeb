package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
)

// overwriteBlock overwrites the values of these variables in the initial environment
// (proc_pid_environ(5)). It writes through /proc/self/mem, where a wrong address is an
// error and not a fault.
func overwriteBlock(names []string) error {
	start, end, err := environmentBlock()
	if err != nil {
		return err
	}
	mem, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	block := make([]byte, end-start)
	if _, err = mem.ReadAt(block, start); err == nil {
		err = overwriteIn(block, names, func(at, n int) error {
			_, err := mem.WriteAt(make([]byte, n), start+int64(at))
			return err
		})
	}
	clear(block)
	return errors.Join(err, mem.Close())
}

// overwriteIn calls wipe for the value of each of these variables in the block, a
// sequence of NAME=value strings that end in NUL.
func overwriteIn(block []byte, names []string, wipe func(at, n int) error) error {
	for at := 0; at < len(block); {
		n := bytes.IndexByte(block[at:], 0)
		if n < 0 {
			n = len(block) - at
		}
		if name, value, ok := bytes.Cut(block[at:at+n], []byte("=")); ok && slices.Contains(names, string(name)) {
			if err := wipe(at+len(name)+1, len(value)); err != nil {
				return err
			}
		}
		at += n + 1
	}
	return nil
}

// maxBlock is the most bytes to read as the environment. The kernel allows 6 MiB for
// arguments and environment together (execve(2)).
const maxBlock = 6 << 20

// environmentBlock returns the addresses of the initial environment: env_start and
// env_end, fields 50 and 51 of proc_pid_stat(5).
func environmentBlock() (start, end int64, err error) {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0, err
	}
	// After the program's name, which may contain anything.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	const first = 3 // number of the first field after the name
	if len(fields) <= 51-first {
		return 0, 0, errors.New("/proc/self/stat does not say where the environment is")
	}
	if start, err = strconv.ParseInt(string(fields[50-first]), 10, 64); err == nil {
		end, err = strconv.ParseInt(string(fields[51-first]), 10, 64)
	}
	if err != nil || start <= 0 || end < start || end-start > maxBlock {
		return 0, 0, fmt.Errorf("/proc/self/stat has no range for the environment: %d to %d", start, end)
	}
	return start, end, nil
}
