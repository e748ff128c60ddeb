package config

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
)

// Source selects the layers. The zero value means the default file if it exists, the
// environment of this process, and no flags.
type Source struct {
	// Path is the TOML file, which must exist. If it is "", DefaultPath is used, which may
	// be missing.
	Path string

	// Env has the form of os.Environ; nil means Environ. HOME and XDG_CONFIG_HOME are taken
	// from it, too, and on Windows USERPROFILE and APPDATA. An empty variable counts as unset.
	Env []string

	// Flags maps a key's path to the text of its flag on the command line. See Flag.
	Flags map[string]string
}

// Load merges the layers. Its error is an [*Errors] with every problem of every layer;
// the Config is then empty. The warnings are valid in both cases.
func Load(s Source) (Config, []Warning, error) {
	if s.Env == nil {
		s.Env = Environ()
	}
	env := environ(s.Env)
	getenv := func(name string) string { return env[name] }

	var c Config
	c.origin = make(map[string]string)
	home := homeDir(runtime.GOOS, getenv)
	l := &loader{
		rows:   table(&c, home),
		kinds:  kinds(&c, home),
		origin: c.origin,
		where:  make(map[string]string),
		doubt:  make(map[string]bool),
	}
	if s.Path != "" {
		l.readFile(s.Path, false)
	} else if path := defaultPath(runtime.GOOS, getenv); path != "" {
		l.readFile(path, true)
	}
	// A later layer overrides an earlier one, key by key.
	l.readEnv(env)
	l.readFlags(s.Flags)
	l.compare(&c)

	// A partial configuration must not be used: a refused value may be a limit.
	if len(l.problems) > 0 {
		return Config{}, l.warnings, &Errors{l.problems}
	}
	return c, l.warnings, nil
}

// loader collects the values, problems and warnings of the layers.
type loader struct {
	rows   []row
	kinds  []kind
	origin map[string]string // Config.origin
	where  map[string]string // like origin, with columns

	// Keys with refused values must not be compared with others. gaps means all keys: a
	// value is missing, and its key is unknown.
	doubt map[string]bool
	gaps  bool

	problems []Problem
	warnings []Warning
}

// put stores the value of a key from one layer.
func (l *loader) put(r row, where, origin string, text []string) {
	if err := r.set(text); err != nil {
		l.refuse(r.Path, where, r.Path+" "+err.Error())
		return
	}
	l.where[r.origin()], l.origin[r.origin()] = where, origin
}

// refuse reports a problem with a known key.
func (l *loader) refuse(key, where, message string) {
	l.doubt[key] = true
	l.problems = append(l.problems, Problem{Where: where, Key: key, Message: message})
}

// fail reports any other problem.
func (l *loader) fail(where, message string, cause error) {
	l.gaps = true
	l.problems = append(l.problems, Problem{Where: where, Message: message, Err: cause})
}

// warn reports a setting without effect.
func (l *loader) warn(where, message string) {
	l.warnings = append(l.warnings, Warning{where, message})
}

// row returns the row of a key, if the key exists.
func (l *loader) row(path string) (row, bool) {
	i := slices.IndexFunc(l.rows, func(r row) bool { return r.Path == path })
	if i < 0 {
		return row{}, false
	}
	return l.rows[i], true
}

// environ returns an environment as a map. The first of a repeated name counts, as in
// package os.
func environ(list []string) map[string]string {
	env := make(map[string]string, len(list))
	for _, entry := range list {
		name, value, _ := strings.Cut(entry, "=")
		if _, again := env[name]; !again {
			env[name] = value
		}
	}
	return env
}

// readEnv reads the variables of all keys and warns about other variables that start with
// PTYCTL_.
func (l *loader) readEnv(env map[string]string) {
	known := make(map[string]bool, len(l.rows))
	for _, r := range l.rows {
		known[r.Env] = true
		if value := env[r.Env]; value != "" {
			l.put(r, r.Env, r.Env, r.split(value))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !strings.HasPrefix(name, "PTYCTL_") || known[name] || env[name] == "" {
			continue
		}
		l.warn(bare(name), l.strangeEnv(name))
	}
}

// strangeEnv explains why a PTYCTL_ variable has no effect.
func (l *loader) strangeEnv(name string) string {
	for _, b := range bypassed {
		if name == b.env {
			return b.why
		}
	}
	var names, means []string
	for _, r := range l.rows {
		// Some keys have a variable with another name than the path suggests.
		names = append(names, r.Env, envName(r.Path))
		means = append(means, r.Env, r.Env)
	}
	for _, k := range l.kinds {
		if own := envName(k.Path); name == own || strings.HasPrefix(name, own+"_") {
			return "has no effect, because only the file can hold tables; use " + k.Header() + " there"
		}
	}
	if i := similar(name, names); i >= 0 {
		return fmt.Sprintf("has no effect, because no key has this variable; did you mean %s?", means[i])
	}
	return "has no effect, because no key has this variable; remove it"
}

// readFlags stores the values of flags, the last layer.
func (l *loader) readFlags(flags map[string]string) {
	for _, path := range slices.Sorted(maps.Keys(flags)) {
		if i := slices.IndexFunc(bypassed, func(b bypass) bool { return b.path == path && b.flag != "" }); i >= 0 {
			l.warn("--"+bypassed[i].flag, bypassed[i].why)
			continue
		}
		r, ok := l.row(path)
		if !ok {
			l.fail("--"+bare(path), "there is no such key; "+l.advise(path), nil)
			continue
		}
		flag := "--" + r.Flag.Name
		if r.Flag.Name == "" {
			flag = "--" + path
		}
		l.put(r, flag, flag, r.split(flags[path]))
	}
}
