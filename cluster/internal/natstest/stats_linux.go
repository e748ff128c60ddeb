package natstest

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// CPU returns the processor time that the process has used: the sum over its threads (proc(5), schedstat).
func (s *Server) CPU(tb testing.TB) (used time.Duration) {
	tb.Helper()
	threads, err := filepath.Glob("/proc/" + strconv.Itoa(s.cmd.Process.Pid) + "/task/*/schedstat")
	if err != nil || len(threads) == 0 {
		tb.Fatalf("server %s has no threads: %v", s.Name, err)
	}
	for _, t := range threads {
		text, err := os.ReadFile(t)
		if err != nil {
			continue // the thread has ended
		}
		on, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseInt(on, 10, 64)
		if err != nil {
			tb.Fatal(err)
		}
		used += time.Duration(n)
	}
	return used
}

// Memory returns the bytes of the process in RAM (proc_pid_status(5), VmRSS).
func (s *Server) Memory(tb testing.TB) int64 {
	tb.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(s.cmd.Process.Pid) + "/status")
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				tb.Fatal(err)
			}
			return kib << 10
		}
	}
	tb.Fatalf("server %s has no VmRSS", s.Name)
	return 0
}

// A Traffic is the number of messages and bytes that a server has sent and received since its start, to and from
// clients and servers.
type Traffic struct {
	InMsgs   int64 `json:"in_msgs"`
	OutMsgs  int64 `json:"out_msgs"`
	InBytes  int64 `json:"in_bytes"`
	OutBytes int64 `json:"out_bytes"`
}

// Traffic asks the server's monitor.
func (s *Server) Traffic(tb testing.TB) (t Traffic) {
	tb.Helper()
	r, err := http.Get(s.monitor + "/varz")
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(&t); err != nil {
		tb.Fatal(err)
	}
	return t
}
