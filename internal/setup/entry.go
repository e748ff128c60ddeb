package setup

import (
	"maps"
	"slices"
)

// ServerName is the name of the entry.
const ServerName = "ptyctl"

// An Entry is how a client starts a server.
type Entry struct {
	Command string   // an absolute path
	Args    []string // behind it
	Env     map[string]string
	EnvVars []string // the names of variables that are passed on besides the usual ones (Codex)
	Off     bool     // the client does not start it
}

// Args returns the arguments of ptyctl as a client starts it. With daemon, the sessions outlive the client.
func Args(daemon bool) []string {
	args := []string{"mcp", "--transport", "stdio"}
	if daemon {
		args = append(args, "--daemon")
	}
	return args
}

// same reports whether two entries start the same.
func (e Entry) same(o Entry) bool {
	return e.Command == o.Command && slices.Equal(e.Args, o.Args) && maps.Equal(e.Env, o.Env)
}

// The shapes in which clients write an entry. A new entry has a command and only the other fields that it needs.
type (
	plainEntry struct {
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env,omitempty"`
	}
	typedEntry struct {
		Type string `json:"type"`
		plainEntry
	}
	openCodeEntry struct {
		Type        string            `json:"type"`
		Command     []string          `json:"command"`
		Environment map[string]string `json:"environment,omitempty"`
		Enabled     bool              `json:"enabled"`
	}
	codexEntry struct {
		Command string            `toml:"command"`
		Args    []string          `toml:"args"`
		EnvVars []string          `toml:"env_vars"`
		Env     map[string]string `toml:"env,omitempty,inline"`
	}
	gooseEntry struct {
		Name    string            `yaml:"name"`
		Type    string            `yaml:"type"`
		Cmd     string            `yaml:"cmd"`
		Args    []string          `yaml:"args"`
		Envs    map[string]string `yaml:"envs,omitempty"`
		Enabled bool              `yaml:"enabled"`
		Timeout int               `yaml:"timeout"` // seconds, of a call
	}
)

func plain(e Entry) any { return plainEntry{e.Command, e.Args, e.Env} }

func typedStdio(e Entry) any { return typedEntry{"stdio", plainEntry{e.Command, e.Args, e.Env}} }

func openCode(e Entry) any {
	return openCodeEntry{"local", append([]string{e.Command}, e.Args...), e.Env, true}
}

func codex(e Entry) any {
	passed := e.EnvVars
	if len(passed) == 0 {
		passed = []string{"SSH_AUTH_SOCK"}
	}
	return codexEntry{e.Command, e.Args, passed, e.Env}
}

func goose(e Entry) any {
	return gooseEntry{ServerName, "stdio", e.Command, e.Args, e.Env, true, 300}
}

// A written is an entry as it is in a file, of any client.
type written struct {
	Command     words             `json:"command" toml:"command" yaml:"command"`
	Cmd         string            `json:"cmd" toml:"cmd" yaml:"cmd"`
	Args        []string          `json:"args" toml:"args" yaml:"args"`
	Env         map[string]string `json:"env" toml:"env" yaml:"env"`
	Environment map[string]string `json:"environment" toml:"environment" yaml:"environment"`
	Envs        map[string]string `json:"envs" toml:"envs" yaml:"envs"`
	EnvVars     []string          `json:"env_vars" toml:"env_vars" yaml:"env_vars"`
	Enabled     *bool             `json:"enabled" toml:"enabled" yaml:"enabled"`
	Disabled    bool              `json:"disabled" toml:"disabled" yaml:"disabled"`
}

// isField reports whether an entry has a field of that name. Clients compare names exactly; the decoders of JSON and TOML
// would take COMMAND for command.
func isField(name string) bool {
	return slices.Contains([]string{
		"command", "cmd", "args", "env", "environment", "envs", "env_vars", "enabled", "disabled",
	}, name)
}

// words is a text, or a list of texts.
type words []string

func (w written) entry() Entry {
	e := Entry{Command: w.Cmd, Args: w.Args, EnvVars: w.EnvVars, Off: w.Disabled || w.Enabled != nil && !*w.Enabled}
	if len(w.Command) > 0 {
		e.Command, e.Args = w.Command[0], append(slices.Clone(w.Command[1:]), w.Args...)
	}
	for _, env := range []map[string]string{w.Env, w.Environment, w.Envs} {
		if len(env) > 0 {
			e.Env = env
		}
	}
	return e
}
