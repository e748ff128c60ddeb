package sshconfig

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// Aliases returns the names that Host lines give to single hosts, sorted: what a person may want to connect to. It reads
// the sources as [Evaluate] does, o.Host aside, and what follows Include in blocks for other hosts as well. After an error
// it returns what was found before.
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

// alias notes the arguments of a Host line that are names and no patterns.
func (e *evaluator) alias(args []string) {
	for _, a := range args {
		if !strings.ContainsAny(a, "*?!") && validHost(a) {
			e.aliases[a] = true
		}
	}
}
