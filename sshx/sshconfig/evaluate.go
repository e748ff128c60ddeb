package sshconfig

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ptyctl/sshx/patterns"
)

// evaluator is the state of one Evaluate call.
type evaluator struct {
	ctx context.Context
	opt Options
	uid string

	// host is the name that Host lines match: first the name of the call, then, in the final
	// pass, the name to connect to.
	host      string
	final     bool // this is the second pass
	wantFinal bool // a Match line asked for a second pass

	set    map[string]*setting   // by canonical name
	cache  map[cacheKey][]string // lines by file, so that both passes see the same text
	budget budget

	warnings []Warning
	warned   map[Warning]int // index into warnings, by Warning with Applies false
	refusals []Refusal

	aliases   map[string]bool // nil unless Aliases is running
	variables map[string]bool // nil unless Variables is running
}

// setting is the value of one keyword.
type setting struct {
	args   []string // canonical form, see kind
	origin Origin
	items  []Value // instead of args, where Keyword.Accumulates
}

// Evaluate reads the sources of o and returns the configuration for o.Host.
//
// The error is a *PermissionError or *FileError for a file that OpenSSH would not read
// either, an *ArgError for a bad override, the context's error, or an error about a field of
// o. Problems with single lines are in Config.Warnings and Config.Unsupported.
func Evaluate(ctx context.Context, o Options) (*Config, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	e := newEvaluator(ctx, o)
	e.arguments()
	if err := e.overrides(); err != nil {
		return nil, err
	}
	if err := e.files(); err != nil {
		return nil, err
	}
	// ssh(1) reads the files a second time if the name has changed or a Match line asks for it.
	// Values of the first pass stay, because the first value wins.
	host := e.canonicalize()
	if e.wantFinal || e.text("CanonicalizeHostname") != "no" {
		e.beginFinal(host)
		if err := e.files(); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return e.finish(host), nil
}

// newEvaluator returns the state for one pass over the sources; o must be filled.
func newEvaluator(ctx context.Context, o Options) *evaluator {
	return &evaluator{
		ctx:    ctx,
		opt:    o,
		uid:    localUID(),
		host:   o.Host,
		set:    make(map[string]*setting),
		cache:  make(map[cacheKey][]string),
		warned: make(map[Warning]int),
	}
}

// beginFinal prepares the second pass, in which Host lines match the name to connect to, and
// HostName is already decided.
func (e *evaluator) beginFinal(host string) {
	e.final, e.host = true, host
	if e.set["HostName"] == nil {
		e.set["HostName"] = &setting{args: []string{host}, origin: Origin{Source: Default}}
	}
}

// arguments sets the fields of the call, which win over every source.
func (e *evaluator) arguments() {
	origin := Origin{Source: Argument}
	if e.opt.User != "" {
		e.set["User"] = &setting{args: []string{e.opt.User}, origin: origin}
	}
	if e.opt.Port != 0 {
		e.set["Port"] = &setting{args: []string{fmt.Sprint(e.opt.Port)}, origin: origin}
	}
}

// overrides sets the options of the call. A bad one is an error, because the caller can
// correct it.
func (e *evaluator) overrides() error {
	for _, o := range e.opt.Overrides {
		switch strings.ToLower(o.Keyword) {
		case "host", "match", "include":
			return &ArgError{Arg: o.Keyword, Reason: "this directive only works in a file"}
		}
		k := lookup(o.Keyword)
		if k == nil {
			if e.ignored(o.Keyword) {
				continue
			}
			return &ArgError{Arg: o.Keyword, Reason: "there is no such keyword in ssh_config(5)"}
		}
		args, err := splitArgs(o.Value)
		if err != nil {
			return &ArgError{Arg: k.Name, Reason: "a quote is not closed"}
		}
		values, err := k.check(input{args: args, tail: o.Value}, o.Origin)
		if err != nil {
			return &ArgError{Arg: k.Name, Reason: err.Error()}
		}
		if err := e.assign(k, values, o.Origin); err != nil {
			return &ArgError{Arg: k.Name, Reason: err.Error()}
		}
	}
	return nil
}

// ignored reports whether IgnoreUnknown covers keyword.
func (e *evaluator) ignored(keyword string) bool {
	list := e.text("IgnoreUnknown")
	return list != "" && matchHostList(keyword, list)
}

// check parses the arguments of k and applies the rules for a caller's values.
func (k *Keyword) check(in input, origin Origin) ([]string, error) {
	if k.Class == Ignore {
		return nil, nil
	}
	args, err := k.parse(in)
	if err != nil || !origin.Caller() {
		return args, err
	}
	// These values reach a command line of the operator through %-tokens.
	switch k.Name {
	case "HostName", "HostKeyAlias":
		if !validHost(args[0]) {
			return nil, fmt.Errorf("%q contains characters that are not allowed in a host name", args[0])
		}
	case "User":
		if !validUser(args[0]) {
			return nil, fmt.Errorf("%q contains characters that are not allowed in a user name", args[0])
		}
	case "ProxyJump":
		jumps, err := ParseJump(args[0])
		if err != nil {
			return nil, err
		}
		for _, j := range jumps {
			if err := j.validate(); err != nil {
				return nil, err
			}
		}
	}
	return args, nil
}

// maxValues is OpenSSH's limit for identities, applied here to every keyword that
// accumulates.
const maxValues = 100

// assign sets a keyword unless an earlier line has set it.
func (e *evaluator) assign(k *Keyword, args []string, origin Origin) error {
	old := e.set[k.Name]
	switch {
	case len(args) == 0:
		return nil
	case k.Accumulates:
		return e.accumulate(k, args, origin)
	case k.Name == "RefuseConnection":
		// This keyword is an action, so every line in force counts.
		e.refuse(k.Name, origin, "the configuration refuses this host: "+args[0])
		return nil
	// Two keywords have two parts, and a later line may set the part that is still open.
	case k.Name == "RekeyLimit" && old != nil && len(old.args) == 1 && len(args) == 2:
		old.args = append(old.args, args[1]) // size and time are set separately
		return nil
	case k.Name == "ForwardAgent" && old != nil && old.args[0] == "yes" && args[0] != "no":
		old.args = args // the agent to forward is set separately, too
		return nil
	case e.decided(k):
		return nil
	}
	e.set[k.Name] = &setting{args: args, origin: origin}
	return nil
}

// decided reports whether k has its final value.
func (e *evaluator) decided(k *Keyword) bool {
	switch {
	case e.opt.Behind && (k.Name == "ProxyJump" || k.Name == "ProxyCommand"):
		return true // by the jump before it
	case k.Name == "ProxyJump":
		// The first of the two disables the other.
		return e.set["ProxyJump"] != nil || e.set["ProxyCommand"] != nil
	case k.Name == "ProxyCommand":
		j := e.text("ProxyJump")
		return e.set["ProxyCommand"] != nil || j != "" && j != "none"
	}
	return e.set[k.Name] != nil
}

// accumulate adds values to k. In SendEnv "-pattern" removes earlier ones.
func (e *evaluator) accumulate(k *Keyword, args []string, origin Origin) error {
	s := e.set[k.Name]
	if s == nil {
		s = &setting{origin: origin}
		e.set[k.Name] = s
	}
	for _, arg := range args {
		if pattern, remove := strings.CutPrefix(arg, "-"); remove && k.Name == "SendEnv" {
			s.items = slices.DeleteFunc(s.items, func(v Value) bool { return patterns.Match(v.Text, pattern) })
			continue
		}
		if slices.ContainsFunc(s.items, func(v Value) bool { return v.Text == arg }) {
			continue
		}
		if len(s.items) == maxValues {
			return fmt.Errorf("there are more than %d values: the rest is dropped", maxValues)
		}
		s.items = append(s.items, Value{Text: arg, Origin: origin})
	}
	return nil
}

// text returns the first argument of a keyword by its canonical name, or its default, or "".
func (e *evaluator) text(name string) string {
	if args := e.args(name); len(args) > 0 {
		return args[0]
	}
	return ""
}

// args returns the arguments of a keyword, or its default.
func (e *evaluator) args(name string) []string {
	if s := e.set[name]; s != nil {
		return s.args
	}
	return lookup(name).Default
}

// user returns the remote user so far.
func (e *evaluator) user() string {
	if u := e.text("User"); u != "" {
		return u
	}
	return e.opt.LocalUser
}

// origin returns where a keyword was set.
func (e *evaluator) origin(name string) Origin {
	if s := e.set[name]; s != nil {
		return s.origin
	}
	return Origin{Source: Default}
}

// Limits on the number of messages; further ones would add no information.
const (
	maxWarnings = 1000
	maxRefusals = 100
)

// warn records w, once for both passes. A line that applies in only one of them counts as
// applying.
func (e *evaluator) warn(w Warning) {
	key := w
	key.Applies = false
	if i, ok := e.warned[key]; ok {
		e.warnings[i].Applies = e.warnings[i].Applies || w.Applies
		return
	}
	if len(e.warnings) < maxWarnings {
		e.warned[key] = len(e.warnings)
		e.warnings = append(e.warnings, w)
	}
}

// refuse records a reason not to connect.
func (e *evaluator) refuse(name string, origin Origin, reason string) {
	r := Refusal{Origin: origin, Keyword: name, Reason: reason}
	if len(e.refusals) < maxRefusals && !slices.Contains(e.refusals, r) {
		e.refusals = append(e.refusals, r)
	}
}

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

// Variables returns the sorted names of the environment variables that the operator's files refer to, for any host:
// those of SendEnv, which may be patterns, and those that a value names as ${NAME} or $NAME, also in commands. Like
// Aliases, it needs no o.Host, and returns with an error the names that it found before.
func Variables(ctx context.Context, o Options) ([]string, error) {
	o.Host, o.AllowExec, o.CallerFile = "variables.invalid", false, ""
	if err := o.fill(); err != nil {
		return nil, err
	}
	e := newEvaluator(ctx, o)
	e.variables = make(map[string]bool)
	err := e.files()
	return slices.Sorted(maps.Keys(e.variables)), err
}

// maxVariables is the most names that Variables returns: a list that no person has written.
const maxVariables = 1000

// refer records the variables of one line.
func (e *evaluator) refer(keyword string, args []string, rest string) {
	add := func(name string) {
		if name != "" && len(e.variables) < maxVariables {
			e.variables[name] = true
		}
	}
	if strings.EqualFold(keyword, "SendEnv") {
		for _, a := range args {
			if !strings.HasPrefix(a, "-") { // which takes an earlier one back
				add(a)
			}
		}
		return
	}
	for _, part := range strings.Split(rest, "$")[1:] {
		part = strings.TrimPrefix(part, "{")
		end := strings.IndexFunc(part, func(r rune) bool {
			return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		})
		if end < 0 {
			end = len(part)
		}
		add(part[:end])
	}
}
