package fleet

import (
	"ptyctl/fleet/groups"
	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/toolset"
	"ptyctl/term"
)

// Instructions tell a model how the tool works together with others.
const Instructions = `- ptyctl_fleet runs one command on many SSH hosts in one call: equal answers are one group, with the ` +
	`output once, others as a diff against it. Each host's exact output: ptyctl_session_io read with fleet_id and host. ` +
	`ptyctl_fs, where offered, copies a file to many hosts (to.hosts), and collects one from each.`

// Tool is ptyctl_fleet.
var Tool = toolset.Bind(schema.Tool{
	Name:  "ptyctl_fleet",
	Title: "Many hosts",
	About: "Run one command on many SSH hosts, in one call. Hosts with the same exit code and output are one group (exit " +
		"code 0 and the hosts of the largest, all others, may be left out); the largest shows its output, others their " +
		"difference from it. failures have no exit code, not_run never began. " +
		"done_reason running: status waits on.",
	Reading: "Show what commands on many SSH hosts have said.",
	Actions: []schema.Action{
		{Name: "run", About: "cmd on hosts, or with fleet_id and only on those again.", Example: `{"action":"run","hosts":["web[01-20].example.net"],"cmd":"uptime"}`, Verb: term.VerbExec},
		{Name: "diff", About: "before and after, two runs: what has changed on each host.", Example: `{"action":"diff","before":"f-5t2k9w3m","after":"f-8c3d7x1q"}`, Reads: true},
		{Name: "status", About: "a run's answers so far, or without fleet_id your runs.", Example: `{"action":"status","fleet_id":"f-5t2k9w3m"}`, Reads: true},
		{Name: "cancel", About: "begin no other host, stop the commands.", Example: `{"action":"cancel","fleet_id":"f-5t2k9w3m"}`, Verb: term.VerbSignal},
		{Name: "hosts", About: "the hosts that expressions mean.", Example: `{"action":"hosts","hosts":["@web","!web03"]}`, Reads: true},
	},
	Hints: schema.Hints{Destructive: true, OpenWorld: true},
}, do, runOut{}, listOut{}, hostsOut{})

// args are the arguments of ptyctl_fleet. Times are in milliseconds.
type args struct {
	Hosts          []string         `json:"hosts" on:"run hosts" need:"hosts" doc:"web[01-20,25], user@host:port, @group, web*, !exclude" eg:"'hosts':['web[01-20].example.net'],'fleet_id':null,'only':null"`
	Cmd            string           `json:"cmd" on:"run" words:"argv" doc:"[run] shell line"`
	Argv           []string         `json:"argv" on:"run" doc:"[run] or words" eg:"'argv':['uptime','-p'],'cmd':null"`
	FleetID        string           `json:"fleet_id" on:"run status cancel" need:"cancel" is:"filled" doc:"of a run" eg:"'fleet_id':'f-5t2k9w3m','run/only':'failed','run/hosts':null"`
	Only           string           `json:"only" on:"run" enum:"failed" doc:"[run] of fleet_id: hosts that failed or were not run" eg:"'only':'failed','fleet_id':'f-5t2k9w3m','hosts':null"`
	Before         string           `json:"before" need:"diff" is:"filled" doc:"[diff] fleet_id"`
	After          string           `json:"after" need:"diff" is:"filled" doc:"[diff] fleet_id"`
	Normalize      groups.Normalize `json:"normalize" on:"run" enum:"none volatile" doc:"[run] volatile: mask own names, addresses, times, pids, uptimes" eg:"'normalize':'volatile'"`
	Canary         int              `json:"canary" on:"run" doc:"[run] this many first; if one fails, no other begins" eg:"'canary':1"`
	Batch          string           `json:"batch" on:"run" is:"filled" doc:"[run] hosts of a batch: 10 or 25%" eg:"'batch':'25%'"`
	StopOnFailures string           `json:"stop_on_failures" on:"run" is:"filled" doc:"[run] after so many no other begins: 1 or 10%" eg:"'stop_on_failures':'1'"`
	MaxParallel    int              `json:"max_parallel" on:"run" min:"1" max:"10000" doc:"[run] default {fleet.max_parallel}" eg:"'max_parallel':50"`
	OnRefused      string           `json:"on_refused" on:"run" enum:"stop skip" doc:"[run] hosts that rules refuse: stop (default) runs nothing" eg:"'on_refused':'skip'"`
	TimeoutMS      int64            `json:"timeout_ms" on:"run" min:"1" max:"1<<40" doc:"[run] per command, then stopped; default {session.default_exec_timeout_ms}" eg:"'timeout_ms':20000"`
	DeadlineMS     int64            `json:"deadline_ms" on:"run" min:"1" max:"1<<40" doc:"[run] for all; default 3600000" eg:"'deadline_ms':600000"`
	WaitMS         *int64           `json:"wait_ms" on:"run status" max:"1<<40" doc:"longest wait; default {limits.max_wait_ms}" eg:"'wait_ms':5000"`
	MaxOutput      int              `json:"max_output_bytes" on:"run diff status cancel" min:"200" max:"1<<30" doc:"of the answer; default 500 to 2000" eg:"'max_output_bytes':8192"`
	RequestID      string           `json:"request_id" on:"run" is:"filled" doc:"[run] makes a retry safe" eg:"'request_id':'r-1'"`
}
