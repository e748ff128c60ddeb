package term

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// An Environment is that of the program for which a terminal is opened: its variables and its working folder. A process
// that opens terminals for other programs gives each call the environment of its caller; without one, that of this
// process counts. A nil *Environment is that of this process.
type Environment struct {
	dir       string
	variables []string // NAME=value, each name once
}

// NewEnvironment returns an Environment. The variables have the form of os.Environ; of a repeated name the first one
// counts. dir is an absolute path, or empty if the caller's folder is not known.
func NewEnvironment(dir string, variables []string) *Environment {
	e := &Environment{dir: dir}
	seen := make(map[string]bool)
	for _, v := range variables {
		if name, _, ok := strings.Cut(v, "="); ok && name != "" && !seen[VariableName(name)] {
			seen[VariableName(name)] = true
			e.variables = append(e.variables, v)
		}
	}
	return e
}

// VariableName returns the name of a variable in the form in which names are compared: Windows ignores the case.
func VariableName(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

// Lookup returns the value of a variable, and whether it is set.
func (e *Environment) Lookup(name string) (value string, ok bool) {
	if e == nil {
		return os.LookupEnv(name)
	}
	for _, v := range e.variables {
		if n, value, _ := strings.Cut(v, "="); VariableName(n) == VariableName(name) {
			return value, true
		}
	}
	return "", false
}

// Get returns the value of a variable; empty: it is not set, or set to nothing.
func (e *Environment) Get(name string) string {
	value, _ := e.Lookup(name)
	return value
}

// List returns all variables in the form of os.Environ. It is never nil, which package os/exec would read as the
// environment of this process.
func (e *Environment) List() []string {
	if e == nil {
		return append([]string{}, os.Environ()...)
	}
	return append([]string{}, slices.Clone(e.variables)...)
}

// Abs returns the absolute form of a path of the caller. An empty path is the caller's working folder.
func (e *Environment) Abs(path string) (string, error) {
	if e == nil || e.dir == "" || filepath.IsAbs(path) {
		return filepath.Abs(path)
	}
	return filepath.Join(e.dir, path), nil
}

type environmentKey struct{}

// WithEnvironment returns a context for work in an environment.
func WithEnvironment(ctx context.Context, e *Environment) context.Context {
	if e == nil {
		return ctx
	}
	return context.WithValue(ctx, environmentKey{}, e)
}

// EnvironmentFrom returns the environment of ctx; nil: that of this process.
func EnvironmentFrom(ctx context.Context) *Environment {
	e, _ := ctx.Value(environmentKey{}).(*Environment)
	return e
}
