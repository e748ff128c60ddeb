package config

import (
	"os"
	"slices"
	"strings"
	"sync"
)

// taken holds the secret variables that TakeSecrets has removed.
var taken struct {
	mu   sync.Mutex // guards the following
	list []string   // NAME=value
}

// TakeSecrets removes the variables of secret keys from the environment of this process,
// so that no program inherits them. It also overwrites them in the process's initial
// environment block, which other processes of the same user can read. Load and Environ
// still return them. If the system has no such block or does not permit the write,
// TakeSecrets returns an error, but the variables are removed.
func TakeSecrets() error {
	taken.mu.Lock()
	defer taken.mu.Unlock()
	var names []string
	var c Config
	for _, r := range table(&c, "") {
		value, ok := os.LookupEnv(r.Env)
		if r.Type != TypeSecret || !ok {
			continue
		}
		names = append(names, r.Env)
		taken.list = append(taken.list, r.Env+"="+strings.Clone(value))
		if err := os.Unsetenv(r.Env); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		return nil
	}
	return overwriteBlock(names)
}

// TakeVariable removes one variable from the environment in the same way, and returns its value; it may be called again.
func TakeVariable(name string) (value string, ok bool) {
	taken.mu.Lock()
	defer taken.mu.Unlock()
	for _, text := range taken.list {
		if value, ok := strings.CutPrefix(text, name+"="); ok {
			return value, true
		}
	}
	if value, ok = os.LookupEnv(name); !ok {
		return "", false
	}
	value = strings.Clone(value) // before its block is overwritten
	taken.list = append(taken.list, name+"="+value)
	_ = os.Unsetenv(name)
	_ = overwriteBlock([]string{name}) // others cannot read the block anyhow, once the process is protected
	return value, true
}

// Environ returns os.Environ with the variables that TakeSecrets has removed.
func Environ() []string {
	taken.mu.Lock()
	defer taken.mu.Unlock()
	return slices.Concat(os.Environ(), taken.list)
}
