package config

// NamedSecret is one of the operator's secrets; package secret defines the meaning.
type NamedSecret struct {
	Entry
	Source    string
	Hint      string
	Env       []string
	Identity  string
	Hosts     []string // patterns
	Devices   []string // patterns
	Local     bool
	Users     []string // patterns; empty: all
	Prompts   []string // regular expressions; empty: those that ask for a password, or for a code
	Uses      []string // empty: all
	Callers   []string // patterns; empty: all
	Commands  []string // as policy.allow; empty: sudo alone
	Confirm   string
	Auto      bool
	AllowEcho bool
	Cleartext bool
	PerHour   int // 0: any number
	ShortOK   bool
}

// secretTable declares [secret.NAME].
func secretTable(c *Config, home string) kind {
	return named(&c.Secret, "secret",
		"A secret by name: where its value comes from, and where it may go. The value is never in this file.",
		func(s *NamedSecret) []row {
			return []row{
				text(&s.Source, "source", "", "The origin of the value, see docs/secrets.md: exec:, keyring:, age:, file:, env:, "+
					"git-credential:, docker-credential:, systemd-credential:, and totp: before any of them.").
					required("such as exec:/usr/bin/pass show web1", `"exec:/usr/bin/pass show web1"`),
				words(&s.Env, "env", "Names of the variables that a helper program gets; it gets no others.").
					example(`["HOME", "GNUPGHOME"]`),
				path(&s.Identity, home, "identity", "The file of age identities for a source age:.").
					example(`"~/.config/age/keys.txt"`),
				words(&s.Hosts, "hosts", "Hosts that may get it, with * and ?, as the operator's ssh_config names them.").
					example(`["web*.example.net"]`),
				words(&s.Devices, "devices", "Serial lines of this machine that may get it, with * and ?.").
					example(`["/dev/ttyUSB0"]`),
				boolean(&s.Local, "local", false, "Programs on this machine may get it."),
				words(&s.Users, "users", "Accounts that may get it, with * and ?; empty is all.").example(`["deploy"]`),
				texts(&s.Prompts, "prompts", "Regular expressions of the questions that it answers; empty is a question for a "+
					"password, or for a code if the source is totp:.").example(`["(?i)^password: ?$"]`),
				words(&s.Uses, "uses", "The ways to use it: login, terminal, stdin; empty is all.").example(`["terminal"]`),
				words(&s.Callers, "callers", "Who may use it: names of tokens, oauth:SUBJECT for callers with an access "+
					"token, and stdio, http or socket for those without a token; with * and ?; empty is all.").example(`["deployer"]`),
				texts(&s.Commands, "commands", "The commands that may read it on their standard input, written as in "+
					"policy.allow; empty is sudo alone.").example(`["mysql *"]`),
				text(&s.Confirm, "confirm", "never", "Whether a person must agree: never, first (to the first use in a "+
					"session) or always."),
				text(&s.Hint, "hint", "", "For callers: what it is for.").example(`"sudo on the web servers"`),
				boolean(&s.Auto, "auto", false, "Answer such questions of a login without being asked to."),
				boolean(&s.AllowEcho, "allow_echo", false, "Answer also a question whose answer the host shows."),
				boolean(&s.Cleartext, "cleartext", false, "Use it also over Telnet without TLS."),
				integer(&s.PerHour, "per_hour", 0, 0, 10_000, "Uses within an hour; 0 is any number."),
				boolean(&s.ShortOK, "short_ok", false, "Give also a value of fewer than 6 characters, which later output "+
					"hides only as a whole word."),
			}
		})
}
