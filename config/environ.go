package config

import (
	"os"
	"slices"
	"strings"
	"sync"
)

// taken are the variables with secrets that TakeSecrets took.
var taken struct {
	mu   sync.Mutex // guards the following
	list []string   // NAME=value
}

// TakeSecrets takes the variables of secret keys out of the environment of this process, so that no program inherits them
// unasked, and overwrites them in the block that the process was started with: other programs of the same user can read
// that as long as the process lives. Load and Environ have them as before. Where the system has no such block, or does not
// let it be written, the error says so; the variables are taken all the same.
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

// Environ is os.Environ with what TakeSecrets took.
func Environ() []string {
	taken.mu.Lock()
	defer taken.mu.Unlock()
	return slices.Concat(os.Environ(), taken.list)
}
