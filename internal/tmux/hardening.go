package tmux

// hardening makes a tmux server show windows and do nothing else. It is set each time, because the server may come from
// an older ptyctl. tmux reads no configuration file.
var hardening = [][]string{
	{"set-option", "-s", "escape-time", "0"},
	{"set-option", "-s", "exit-empty", "on"},
	{"set-option", "-s", "set-clipboard", "off"},

	{"set-option", "-g", "status", "off"},
	{"set-option", "-g", "history-limit", "200000"},
	{"set-option", "-g", "mouse", "off"},
	{"set-option", "-g", "assume-paste-time", "0"}, // the key to leave counts however fast it comes
	{"set-option", "-g", "set-titles", "off"},
	{"set-option", "-g", "bell-action", "none"},
	{"set-option", "-g", "default-command", "/bin/false"}, // of a window that another program makes
	{"set-option", "-g", "update-environment", "HOME PATH LANG LC_* XDG_* PTYCTL_*"},

	{"set-option", "-gw", "alternate-screen", "on"}, // otherwise the screen of a program would stay after its end
	{"set-option", "-gw", "allow-passthrough", "off"},
	{"set-option", "-gw", "allow-rename", "off"},
	{"set-option", "-gw", "automatic-rename", "off"},
	{"set-option", "-gw", "monitor-bell", "off"},
	{"set-option", "-gw", "remain-on-exit", "on"}, // the last screen stays for the viewers
	{"set-option", "-gw", "remain-on-exit-format", ""},

	// A viewer can only leave: no key gives a command of tmux, which could start programs.
	{"set-option", "-g", "prefix", "None"},
	{"set-option", "-g", "prefix2", "None"},
	// Only a table that exists can be emptied, and the failure of a command would end the list.
	{"bind-key", "-T", "root", "F1", "detach-client"},
	{"unbind-key", "-a", "-T", "root"},
	{"bind-key", "-T", "prefix", "F1", "detach-client"},
	{"unbind-key", "-a", "-T", "prefix"},
	{"bind-key", "-T", "copy-mode", "F1", "detach-client"},
	{"unbind-key", "-a", "-T", "copy-mode"},
	{"bind-key", "-T", "copy-mode-vi", "F1", "detach-client"},
	{"unbind-key", "-a", "-T", "copy-mode-vi"},
	{"bind-key", "-T", watchKeys, "C-]", "detach-client"},
	{"bind-key", "-T", takeKeys, "C-]", "if-shell", "-F", "#{pane_dead}", "detach-client", "send-keys C-]"},
	{"set-option", "-g", "key-table", watchKeys},

	// A window closes without a viewer after its session has ended. So does one with a taken terminal: the agent must
	// not wait for a person who has left.
	{"set-hook", "-g", "pane-died", "if-shell -F '" + noViewer + "' kill-session"},
	{
		"set-hook", "-g", "client-detached",
		"if-shell -F '#{&&:#{||:#{pane_dead},#{@take}}," + noViewer + "}' kill-session",
	},
}

// noViewer is a format that is 1 if no client shows the window.
const noViewer = "#{==:#{session_attached},0}"

// The key tables. A key that is in neither goes to the window, unless the client is read-only.
const (
	watchKeys = "watch"
	takeKeys  = "take"
)
