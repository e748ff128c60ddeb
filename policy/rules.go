package policy

import (
	"cmp"
	"context"
	"slices"

	"ptyctl/policy/preset"
)

// Rules are the operator's rules. An empty list has no effect; the zero value
// allows everything.
type Rules struct {
	// Patterns for commands. A match of Deny or Ask denies a command, even if
	// another rule allows it. If Allow is not empty, each command in a line must
	// match one of its patterns from the first word to the last.
	Allow, Deny, Ask []Rule

	// Paths of programs on this machine, or folders of them, for local sessions. A
	// program is looked up like the system does it, and judged by its path after
	// symbolic links.
	Programs, DenyPrograms []Rule

	// Folders on this machine, including subfolders, in which local sessions may
	// run.
	WorkDirs []Rule

	// Names and addresses of hosts, with * and ?. They apply to the plan of a
	// connection: each of its hops and its proxy. On ReadOnlyHosts sessions may be
	// read, but no command runs, nothing is typed and no file changes. On
	// ExecOnlyHosts commands run, but nothing else is typed.
	Hosts, DenyHosts, ReadOnlyHosts, ExecOnlyHosts []Rule

	// Meaning resolves a name in DenyHosts, ReadOnlyHosts or ExecOnlyHosts, so
	// that the rule also applies to the same host under its address. Nil: rules
	// apply only to names and addresses as they are written.
	Meaning func(ctx context.Context, name string) Meaning

	Protocols []Rule

	// The following are single rules. Each has a name and an origin, which denials
	// show as those of a Rule.

	Preset                  string // name of a built-in list of allowed commands; empty: none
	PresetName, PresetWhere string

	Credentials []Credential // if not empty, a login may use no other credentials

	Typing                  Typing
	TypingName, TypingWhere string

	Permissions string // value of PTY_PERMISSIONS

	// Report makes the rules a trial: the Gate refuses nothing, and the Ruling
	// names each denial that it would have made.
	Report                  bool
	ReportName, ReportWhere string

	Person  bool // with Consent: a person of the operator must agree, and not the one at the client
	Consent bool // a call that carries a term.Consent may do actions that only Ask, or "ask" in Permissions, denies
}

// NoBoundary reports whether commands are judged only by lists that deny or
// ask, including those in Permissions. Such lists help against mistakes, but
// there is always another way to run the same program.
func (r Rules) NoBoundary() bool {
	permitted, err := parsePermissions(r.Permissions)
	if err != nil || len(r.Allow) > 0 || r.Preset != "" || permitted.bounds() {
		return false
	}
	return len(r.Deny)+len(r.Ask) > 0 ||
		permitted != nil && slices.ContainsFunc(permitted.rules, func(p permission) bool { return p.verdict != allow })
}

// All returns the rules one by one, for people.
func (r Rules) All() []Rule {
	all := slices.Concat(
		r.Deny,
		r.Ask,
		r.Allow,
		r.DenyPrograms,
		r.Programs,
		r.WorkDirs,
		r.Protocols,
		r.DenyHosts,
		r.Hosts,
		r.ReadOnlyHosts,
		r.ExecOnlyHosts,
	)
	if r.Preset != "" {
		all = append(all, r.preset())
	}
	for _, c := range r.Credentials {
		all = append(all, c.Rule())
	}
	if r.Permissions != "" {
		all = append(all, Rule{Text: r.Permissions, Name: permissionsName})
	}
	if len(all) > 0 || r.Typing != "" && r.Typing != TypingAuto {
		all = append(all, r.typing(r.Typing, r.TypingWhere))
	}
	if r.Report {
		all = slices.Insert(all, 0, Rule{Text: "report", Name: cmp.Or(r.ReportName, nameReport), Where: r.ReportWhere})
	}
	return all
}

// preset returns the rule for commands of the built-in list.
func (r Rules) preset() Rule {
	return Rule{Text: r.Preset, Name: cmp.Or(r.PresetName, namePreset), Where: r.PresetWhere}
}

// typing returns the rule for typed input with the value t, which has its
// origin at where.
func (r Rules) typing(t Typing, where string) Rule {
	return Rule{Text: string(t), Name: cmp.Or(r.TypingName, nameTyping), Where: where}
}

// PresetNames returns the names of all presets.
func PresetNames() []string { return preset.Names() }
