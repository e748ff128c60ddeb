package sshx

import (
	"strings"

	"ptyctl/sshx/sshconfig"
)

// steering are the keywords that name a program, here or on the far side, or a library to load. No caller may set one,
// whatever the value: "none" would undo the operator's.
var steering = []string{"RemoteCommand", "LocalCommand", "PKCS11Provider", "SecurityKeyProvider"}

// checkSteering refuses what would run a program on the word of a caller, or steer the one that runs: a login shell obeys
// variables such as PROMPT_COMMAND and ENV.
func checkSteering(cfg *sshconfig.Config) error {
	for _, k := range steering {
		if at := cfg.Origin(k); at.Caller() {
			return denied(
				"ssh_options",
				"operator's ssh_config",
				"%s (from %s) is refused: it runs a program, and only the operator's own ssh_config may name one; leave it out, and run commands in the session",
				k,
				at,
			)
		}
	}
	refuse := func(keyword, name string, at sshconfig.Origin) error {
		return denied(
			"ssh_options",
			"operator's ssh_config",
			"%s %s (from %s) is refused: a caller may send LANG and LC_* only, since other variables can choose what runs; leave it out, and give variables to the command that needs them",
			keyword,
			name,
			at,
		)
	}
	if at := cfg.Origin("SetEnv"); at.Caller() {
		for _, name := range cfg.SetEnvNames {
			if !languageName(name) {
				return refuse("SetEnv", name, at)
			}
		}
	}
	for _, v := range cfg.SendEnv {
		if v.Origin.Caller() && !languageName(v.Text) {
			return refuse("SendEnv", v.Text, v.Origin)
		}
	}
	return nil
}

// languageName reports whether a name, or a pattern of names, is about the language alone.
func languageName(name string) bool { return name == "LANG" || strings.HasPrefix(name, "LC_") }
