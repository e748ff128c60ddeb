package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// An argument that names a session must be completed with the sessions that run now.
func TestCompleteSessions(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	c := h.Connect(t)
	first, second := c.Open(t, s), c.Open(t, s)
	for _, command := range []string{"attach", "tail", "screenshot", "status", "answer"} {
		stdout, stderr, status := h.Run(t, "complete", command, "127.")
		got := strings.Fields(stdout)
		// Other programs of this user's may run, with sessions of their own.
		if status != 0 || stderr != "" || !slices.Contains(got, first) || !slices.Contains(got, second) {
			t.Errorf("%s: status %d, %q, stderr %q; want %s and %s", command, status, got, stderr, first, second)
		}
	}
	if stdout, _, _ := h.Run(t, "complete", "attach", first[:len(first)-2]); strings.TrimSpace(stdout) != first {
		t.Errorf("got %q, want %q", stdout, first)
	}
}

// TestCompletionScripts has three shells complete hosts, sessions and profiles, with the scripts as they are printed.
func TestCompletionScripts(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	c := h.Connect(t)
	id := c.Open(t, s)
	// The scripts give no --config, so this is the file of the home's owner.
	named, err := os.ReadFile(h.Config)
	if err == nil {
		err = os.MkdirAll(filepath.Join(h.Dir, ".config", "ptyctl"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.Write(t, filepath.Join(h.Dir, ".config", "ptyctl", "ptyctl.toml"), string(named))
	h.Write(t, h.SSHConfig, "Host switch-17\n  HostName 192.0.2.17\n")
	folder := t.TempDir()
	for name, shell := range map[string]struct {
		program []string
		script  string // that prints the candidates of the last of its words; SCRIPT is the file
	}{
		"bash": {[]string{"bash", "--norc", "-c"}, `source SCRIPT
			COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
			_ptyctl; printf '%s\n' "${COMPREPLY[@]}"`},
		"fish": {[]string{"fish", "--no-config", "-c"}, `source SCRIPT; complete -C "$argv[2..]"`},
		"zsh": {[]string{"zsh", "-f", "-c"}, `source SCRIPT
			words=("$@") CURRENT=$#; _ptyctl`},
	} {
		t.Run(name, func(t *testing.T) {
			text, _, status := h.Run(t, "completion", name)
			if status != 0 {
				t.Fatalf("completion %s ends with %d", name, status)
			}
			file := filepath.Join(folder, "ptyctl."+name)
			before := `export PATH="` + filepath.Dir(lab.Binary) + `:$PATH"; `
			if name == "zsh" { // the parts of its completion system that need a person at a terminal
				before += "compdef() { :; }; compadd() { shift; print -rl -- \"$@\"; }; "
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for words, want := range map[string]string{
				"ptyctl open swi":                 "switch-17",
				"ptyctl attach " + id[:len(id)-3]: id,
				"ptyctl profiles cisco_as":        "cisco_asa",
				"ptyctl open --profile cisco_nx":  "cisco_nxos",
				"ptyctl completion zs":            "zsh",
				"ptyctl mcp --transport=bo":       "both",
			} {
				line := []string{before + strings.ReplaceAll(shell.script, "SCRIPT", file), name}
				cmd := exec.Command(shell.program[0], slices.Concat(shell.program[1:], line, strings.Fields(words))...)
				cmd.Env = h.Command().Env
				out, err := cmd.CombinedOutput()
				if got := strings.Fields(string(out)); err != nil || len(got) != 1 || !strings.HasSuffix(got[0], want) {
					t.Errorf("%q: %q (%v), want %q", words, out, err, want)
				}
			}
		})
	}
	// compinit finds the file by its first line.
	out, err := exec.Command("zsh", "-f", "-c", `mkdir $1/fpath && cp $1/ptyctl.zsh $1/fpath/_ptyctl && fpath=($1/fpath $fpath) &&
		autoload -Uz compinit && compinit -D -u && print $_comps[ptyctl]`, "zsh", folder).CombinedOutput()
	if strings.TrimSpace(string(out)) != "_ptyctl" {
		t.Errorf("compinit knows %q (%v), want _ptyctl", out, err)
	}
}
