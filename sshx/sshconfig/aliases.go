package sshconfig

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// Aliases returns the sorted names that Host lines give to single hosts, for example to offer
// them to a user. It reads the sources as [Evaluate] does, without o.Host, and also follows
// Include in blocks for other hosts. With an error it returns the names found before it.
func Aliases(ctx context.Context, o Options) ([]string, error) {
	o.Host, o.AllowExec = "aliases.invalid", false
	if err := o.fill(); err != nil {
		return nil, err
	}
	e := newEvaluator(ctx, o)
	e.aliases = make(map[string]bool)
	err := e.files()
	return slices.Sorted(maps.Keys(e.aliases)), err
}

// alias records the arguments of a Host line that are names, not patterns.
func (e *evaluator) alias(args []string) {
	for _, a := range args {
		if !strings.ContainsAny(a, "*?!") && validHost(a) {
			e.aliases[a] = true
		}
	}
}
