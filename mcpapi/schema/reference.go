package schema

import "strings"

// Markdown returns a reference of tools as a Markdown table: every action with the arguments that it must have and may
// have. It comes from the tables that drive the tools, so it cannot differ from them.
func Markdown(tools []*Tool) string {
	var b strings.Builder
	b.WriteString("| tool | action | does | needs | may take |\n|---|---|---|---|---|\n")
	for _, t := range tools {
		for _, a := range t.Actions {
			about := a.About
			if !t.HasActions() {
				about = t.About
			}
			needs, takes := t.arguments(a.Name)
			markdownRow(
				&b,
				markdownCode(t.Name),
				markdownCode(a.Name),
				about,
				markdownCode(needs...),
				markdownCode(takes...),
			)
		}
	}
	return b.String()
}

// arguments returns the fields an action needs and those it may take, without the one that names it.
func (t *Tool) arguments(action string) (needs, takes []string) {
	for i := range t.Fields {
		switch f := &t.Fields[i]; {
		case !f.Takes(action):
		case f.needs(action):
			needs = append(needs, f.Name)
		default:
			takes = append(takes, f.Name)
		}
	}
	return needs, takes
}

// markdownRow writes a row of a Markdown table.
func markdownRow(b *strings.Builder, cells ...string) {
	for _, c := range cells {
		b.WriteString("| " + strings.ReplaceAll(c, "|", `\|`) + " ")
	}
	b.WriteString("|\n")
}

// markdownCode sets words as code, separated by spaces; empty ones are left out.
func markdownCode(words ...string) string {
	var quoted []string
	for _, w := range words {
		if w != "" {
			quoted = append(quoted, "`"+w+"`")
		}
	}
	return strings.Join(quoted, " ")
}
