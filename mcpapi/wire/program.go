package wire

import "ptyctl/term"

// limitsOut are the limits of a program in a result.
type limitsOut struct {
	CPU       int   `json:"cpu_s,omitempty"`
	Memory    int64 `json:"memory_bytes,omitempty"`
	OpenFiles int   `json:"open_files,omitempty"`
	Processes int   `json:"processes,omitempty"`
}

// newLimitsOut is the wire form of l.
func newLimitsOut(l term.Limits) *limitsOut {
	if l == (term.Limits{}) {
		return nil
	}
	return &limitsOut{l.CPUSeconds, l.MemoryBytes, l.OpenFiles, l.Processes}
}

// Usage is the wire form of the resources that a program used.
type Usage struct {
	CPUMS    int64 `json:"cpu_ms"`
	MaxRSSKB int64 `json:"max_rss_kb,omitempty"` // absent: unknown
}

// Exit is the wire form of a program's end; a value that is not known is left out.
func Exit(e term.Exit) (code *int, signal string, used *Usage) {
	if e.Known {
		code = &e.Code
	}
	if e.Usage != (term.Usage{}) {
		used = &Usage{e.Usage.CPU.Milliseconds(), e.Usage.MaxRSS}
	}
	return code, e.Signal, used
}
