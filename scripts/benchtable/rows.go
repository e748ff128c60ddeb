package main

// A row is one metric of one benchmark.
type row struct {
	what      string
	pkg       string // of the benchmark
	benchmark string // without "Benchmark"
	unit      string
	goal      goal
	beside    string // the reference that the benchmark measures in turns
}

// A goal is a bound; the zero value is no bound.
type goal struct{ most, least float64 }

const (
	programs = "ptyctl/integration/bench"
	decoder  = "ptyctl/telnet"
)

// rows is the table, in its order.
var rows = []row{
	{"exec p50, x raw", programs, "ExecWarm", "x-raw", goal{most: 1.08}, "x/crypto/ssh"},
	{"exec p99, x raw", programs, "ExecWarm", "p99-x-raw", goal{most: 1.3}, "x/crypto/ssh"},
	{"exec with 200 rules, x none", programs, "ExecJudged", "x-raw", goal{most: 1.05}, "ptyctl without rules"},
	{"exec with audit and fsync, x without", programs, "ExecAudited", "x-raw", goal{most: 1.2}, "ptyctl without an audit log"},
	{"exec beside 5 floods, x raw", programs, "ExecBesideFloods", "x-raw", goal{most: 1.1}, "x/crypto/ssh beside the same floods"},
	{"terminal searched for a prompt, x raw", programs, "SearchedTerminal/prompt/16MiB", "x-raw", goal{least: 0.95}, "x/crypto/ssh"},
	{"terminal searched for any pattern, x raw", programs, "SearchedTerminal/general/16MiB", "x-raw", goal{least: 0.95}, "x/crypto/ssh"},
	{"ptyctl_run true, x fork and exec", programs, "LocalRun/others=0", "x-raw", goal{most: 2}, "os/exec"},
	{"the same beside 2,000 processes", programs, "LocalRun/others=2000", "x-raw", goal{most: 2}, "os/exec"},
	{"local open and close, ms", programs, "LocalOpenClose", "p50-ms", goal{most: 3}, "creack/pty"},
	{"file to a host by copy, x sftp", programs, "Copy/put", "x-raw", goal{least: 0.9}, "OpenSSH sftp"},
	{"file from a host by copy, x sftp", programs, "Copy/get", "x-raw", goal{least: 0.9}, "OpenSSH sftp"},
	{"text written in calls, x sftp", programs, "Content/write/text", "x-raw", goal{least: 0.6}, "OpenSSH sftp"},
	{"text read in calls, x sftp", programs, "Content/read/text", "x-raw", goal{least: 0.6}, "OpenSSH sftp"},
	{"bytes written in calls, x sftp", programs, "Content/write/bytes", "x-raw", goal{least: 0.6}, "OpenSSH sftp"},
	{"bytes read in calls, x sftp", programs, "Content/read/bytes", "x-raw", goal{least: 0.6}, "OpenSSH sftp"},
	{"start to initialize, ms", programs, "StartToInitialize", "p50-ms", goal{most: 10}, ""},
	{"memory at rest, MiB", programs, "Memory", "MiB-at-rest", goal{most: 16}, ""},
	{"binary, MB", programs, "Binary", "MB", goal{most: 20}, ""},
	{"Telnet decoder, x copy", decoder, "Decode/text/nvt", "x-copy", goal{least: 0.4}, "copy"},
	{"max_rss_kb of a program with a buffer, x the buffer", programs, "MaxRSS", "x-buffer", goal{most: 1.1}, "the size of the buffer"},
}
