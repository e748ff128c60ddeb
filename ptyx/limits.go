package ptyx

import (
	"strings"
	"time"

	"ptyctl/term"
)

// checkLimits refuses limits that this system cannot enforce.
func checkLimits(l term.Limits) error {
	if l == (term.Limits{}) {
		return nil
	}
	field, reason := limitsUnsupported(l)
	if reason == "" {
		return nil
	}
	return &term.Error{
		Op: "open", Kind: term.Unsupported, Msg: reason, Facts: term.Facts{term.ArgumentFault{Field: field}},
	}
}

// judge sets in e the limits that the program has reached. The system reports only
// processor time: a program that is refused memory, a file or a process decides
// itself what to do, and often fails. Such limits are only suspected.
func judge(e *term.Exit, l term.Limits) {
	cpu := time.Duration(l.CPUSeconds) * time.Second
	switch {
	case cpu == 0:
	case e.Signal == "XCPU", e.Signal == "KILL" && e.Usage.CPU >= cpu:
		e.Limit = term.LimitCPU
		return
	}
	if !e.Known || e.Code == 0 || e.Killed != "" {
		return
	}
	var suspects []string
	if cpu != 0 && e.Usage.CPU >= cpu {
		suspects = append(suspects, string(term.LimitCPU))
	}
	if l.MemoryBytes != 0 {
		suspects = append(suspects, string(term.LimitMemory))
	}
	if l.OpenFiles != 0 {
		suspects = append(suspects, string(term.LimitFiles))
	}
	if l.Processes != 0 {
		suspects = append(suspects, string(term.LimitProcesses))
	}
	e.Suspected = strings.Join(suspects, " ")
}
