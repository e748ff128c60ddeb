package plan

import (
	"strings"

	"ptyctl/sshx/sshconfig"
)

// steering has the keywords that name a program, on this or on the far side, or a
// library to load. A caller must not set one to any value: even "none" would undo
// the operator's setting.
var steering = []string{"RemoteCommand", "LocalCommand", "PKCS11Provider", "SecurityKeyProvider"}

// checkSteering refuses a caller's settings that would run a program or influence
// the one that runs. A login shell, for example, obeys variables such as
// PROMPT_COMMAND and ENV.
func checkSteering(cfg *sshconfig.Config) error {
	for _, k := range steering {
		if at := cfg.Origin(k); at.Caller() {
			return operatorsOwn(
				"%s (from %s) is refused: it runs a program, which only the operator's own ssh_config may name; "+
					"leave it out, and run commands in the session",
				k,
				at,
			)
		}
	}
	refuse := func(keyword, name string, at sshconfig.Origin) error {
		return operatorsOwn(
			"%s %s (from %s) is refused: a caller may send LANG and LC_* only, because other variables can start "+
				"programs; leave it out, and set variables in the command that needs them",
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

// languageName reports whether a name, or a pattern of names, concerns only the
// language.
func languageName(name string) bool { return name == "LANG" || strings.HasPrefix(name, "LC_") }
