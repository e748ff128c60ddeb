// Package prompts has the MCP prompts of ptyctl's sets of tools: recipes for work that takes more than one call.
package prompts

import "ptyctl/mcpapi/toolset"

var hostArgument = toolset.PromptArgument{Name: "host", About: "a name of ssh_config, or USER@HOST[:PORT]"}

// Core are recipes for the work that a person asks for most, with the tools of the set core.
var Core = []toolset.Prompt{
	{
		Name: "log_in", Title: "Log in to a host", About: "open a terminal on a host, also behind jump hosts and with a code",
		Arguments: []toolset.PromptArgument{hostArgument},
		Text: `Open a terminal on {host} with ptyctl_session open. If it returns state "authenticating", tell me which question ` +
			`of which host it asks, and wait for my answer; type it with ptyctl_session_io write and sensitive: true, one answer ` +
			`for each question. If the host key is unknown, show me its fingerprint and let me decide. Then say what the host ` +
			`greets with and which shell or device it is, and leave the session open.`,
	},
	{
		Name: "diagnose_service", Title: "Find out why a service fails", About: "look at a failing service on a host, and change nothing",
		Arguments: []toolset.PromptArgument{hostArgument, {Name: "service", About: "such as nginx, or a unit of systemd"}},
		Text: `Find out why the service {service} fails on {host}. Use ptyctl_session_exec with that host, and only commands that ` +
			`change nothing: its status, the last 100 lines of its log, its configuration check if it has one, the disk, ` +
			`the memory and the ports that it needs. Limit the output of each command. Then tell me the cause, the lines that ` +
			`prove it, and the change that you propose; make no change before I agree.`,
	},
	{
		Name: "run_as_root", Title: "Run a command as root", About: "run a command with sudo, without the password passing through the model",
		Arguments: []toolset.PromptArgument{hostArgument, {Name: "command", About: "the command, without sudo"}},
		Text: `Run this as root on {host}: {command}` + "\n" +
			`First show me the command and what it changes, and wait for my yes. If ptyctl_session has the action secrets, ` +
			`see whether one for sudo is bound to that host: then use ptyctl_session_exec with sudo_secret. Otherwise open a terminal, type the ` +
			`command with sudo, and if it asks for a password (waiting_for), ask me to type it with "ptyctl attach --take" or on ` +
			`the watch page; never ask me to tell you the password. Report the exit code.`,
	},
	{
		Name: "follow_command", Title: "Run a long command to its end", About: "start a command that takes minutes or hours, and report its end",
		Arguments: []toolset.PromptArgument{hostArgument, {Name: "command", About: "the command"}},
		Text: `Run this on {host} and report how it ends: {command}` + "\n" +
			`Start it once with ptyctl_session_exec and a timeout_ms that is long enough. While done_reason is "running", call ` +
			`exec again with its exec_id, which waits and returns only what is new; never start it a second time. If ` +
			`waiting_for says that it asks something, show me the question. At the end tell me the exit code and the last lines.`,
	},
	{
		Name: "use_program", Title: "Work in a full-screen program", About: "use an editor, a menu, an installer or a monitor in a terminal",
		Arguments: []toolset.PromptArgument{hostArgument, {Name: "program", About: "such as htop, or vim /etc/hosts"}, {Name: "task", About: "what to do in it"}},
		Text: `Start {program} in a terminal on {host} and do this in it: {task}` + "\n" +
			`Write with ptyctl_session_io and format screen: the screen shows what a person would see, with the marked line and the ` +
			`cursor. Press named keys (key: arrow_down, enter, f10, ctrl_c) one step at a time, and look at the screen after each; ` +
			`"since" with the last version returns only the lines that changed. Save nothing before I agree. Leave the program at ` +
			`the end, and see that the shell's prompt is back.`,
	},
}

// Fleet need the set fleet.
var Fleet = []toolset.Prompt{{
	Name: "compare_hosts", Title: "Find the host that differs", About: "run a command on many hosts and show which differ",
	Arguments: []toolset.PromptArgument{
		{Name: "hosts", About: "such as web[01-20], @group, or names with commas"}, {Name: "command", About: "a command that changes nothing"},
	},
	Text: `Run this on {hosts} and tell me which hosts differ, and in what: {command}` + "\n" +
		`First see with ptyctl_fleet hosts what the expression means. Then make one call of ptyctl_fleet with action diff. Name ` +
		`the hosts that failed or were not reached, with the reason of each.`,
}}

// Device need the set device.
var Device = []toolset.Prompt{{
	Name: "configure_device", Title: "Change a network device", About: "configure a router or switch, with a way back",
	Arguments: []toolset.PromptArgument{{Name: "host", About: "the device"}, {Name: "change", About: "what is to be changed"}},
	Text: `Make this change on the network device {host}: {change}` + "\n" +
		`Open a session and look with ptyctl_session_config get which family it is and which way back it offers (trials). Take a ` +
		`snapshot of its configuration. Show me the exact lines, and how the change undoes itself, and wait for my yes. Then give ` +
		`the lines to ptyctl_session_io write as lines, within the trial; stop at the first line that is refused, and show it. ` +
		`Take a second snapshot, show me the difference, check that the device is still reached, and confirm the trial only then.`,
}}
