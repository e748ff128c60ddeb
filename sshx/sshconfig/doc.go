// Package sshconfig evaluates ssh_config(5) for one host, in the way OpenSSH does, and
// reports the origin of every value.
//
//	cfg, err := sshconfig.Evaluate(ctx, sshconfig.Options{Host: "web1"})
//	if err != nil {
//		return err // a file or an option is unusable
//	}
//	for _, refusal := range cfg.Unsupported {
//		return refusal // the configuration of this host needs an unsupported feature
//	}
//	dial(cfg.HostName, cfg.Port, cfg.User, cfg.ProxyJump)
//
// The sources are read in the order of ssh(1), and the first value of a keyword wins:
//
//	Options.User, Options.Port    the call
//	Options.Overrides             -o and related options (see ParseExtraArgs)
//	Options.CallerFile            -F; then the two files below are not read
//	Options.UserFile              ~/.ssh/config
//	Options.SystemFile            /etc/ssh/ssh_config, %ProgramData%\ssh\ssh_config on Windows
//
// # Trust
//
// A source belongs either to the operator, who installed this program, or to the caller,
// which may be a program that acts on text it has just read. Each value carries its [Origin],
// so that a policy can treat the two differently. Three rules must hold here already, because
// no later check could replace them:
//
//   - This package starts no program. Options.Exec answers Match exec, only for lines in the
//     operator's files, and only with Options.AllowExec. A caller's ProxyCommand,
//     KnownHostsCommand and LocalCommand never reach the Config: they end up in
//     Config.Unsupported.
//   - A value from the caller that a token such as %h can carry into the operator's command
//     line (host, user, alias, jump) is refused if a shell could read it as more than a name.
//   - Values of a caller expand only a few environment variables, so that a secret of this
//     process cannot be sent to a server, for example by SetEnv=X=${SECRET}.
//
// # Tolerance
//
// OpenSSH stops at the first bad line of any file. This package turns a line that it does not
// understand into a [Warning] with file and line number and continues, so that a keyword of a
// later release, or an unrelated Host block, does not make this host unreachable. Two
// exceptions fail closed: a Host or Match line that is not understood matches nothing, and a
// bad value of a keyword that decides about the destination or about trust (see
// [Keyword.Strict]) becomes a [Refusal]. Options of the call get no tolerance: a bad override
// is an error.
//
// [Keywords] lists every keyword of ssh_config(5) and its treatment. Calls of Evaluate are
// independent of each other; a Config does not change after it was returned.
package sshconfig
