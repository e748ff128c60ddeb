package sshserver

import (
	"bytes"
	"os"
	"strconv"
)

// sessionMembers returns the live processes of session sid (proc_pid_stat(5)).
func sessionMembers(sid int) []int {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var members []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has ended
		}
		// The program's name may contain any byte; state, ppid, pgrp and session follow
		// the last parenthesis.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 3 && string(fields[0]) != "Z" && string(fields[3]) == strconv.Itoa(sid) {
			members = append(members, pid)
		}
	}
	return members
}
