// Package sshconfig evaluates ssh_config(5) for one host, as the reader of
// OpenSSH does, and says where every value came from.
//
//	cfg, err := sshconfig.Evaluate(ctx, sshconfig.Options{Host: "web1"})
//	if err != nil {
//		return err // a file or an option that cannot be used at all
//	}
//	for _, refusal := range cfg.Unsupported {
//		return refusal // this host asks for something that is not done
//	}
//	dial(cfg.HostName, cfg.Port, cfg.User, cfg.ProxyJump)
//
// The sources are read in the order of ssh(1), and the first value obtained
// for a keyword is the one that is used:
//
//	Options.User, Options.Port    the call
//	Options.Overrides             -o and its relatives (see ParseExtraArgs)
//	Options.CallerFile            -F: then the two files below are not read
//	Options.UserFile              ~/.ssh/config
//	Options.SystemFile            /etc/ssh/ssh_config
//
// # Trust
//
// A source belongs either to the operator, who installed this program, or to
// the caller, who may be a program acting on text it has just read. Each value
// carries its [Origin], so that a policy can treat the two differently. Three
// rules hold here already, because they cannot be added later:
//
//   - This package starts no program. Match exec is answered by Options.Exec,
//     and only for lines in the operator's files, and only with
//     Options.AllowExec. ProxyCommand, KnownHostsCommand and LocalCommand of a
//     caller never reach the Config: they end up in Config.Unsupported.
//   - What a caller supplies and a token such as %h can carry into somebody
//     else's command line (host, user, alias, jump) is refused when it could be
//     more than a name there.
//   - Values of a caller expand only a few environment variables, so that a
//     secret of this process cannot be sent to a server by SetEnv=X=${SECRET}.
//
// # Tolerance
//
// OpenSSH stops at the first bad line of any file. Here a line that cannot be
// understood becomes a [Warning] with its file and line number and the reading
// goes on, so that a keyword of next year's release, or somebody else's Host
// block, cannot take this host away. Two exceptions fail closed: a Host or
// Match line that cannot be understood matches nothing, and a bad value of a
// keyword that decides where the connection goes or whom to trust (see
// [Keyword.Strict]) becomes a [Refusal]. Options of the call get no such
// tolerance: a bad override is an error.
//
// Every keyword that ssh_config(5) knows is listed in [Keywords] with what is
// done about it. An Evaluate call is independent of every other; a Config is
// not changed after it was returned.
package sshconfig
