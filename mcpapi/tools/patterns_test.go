package tools_test

import (
	"strings"
	"testing"

	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/schema"
	"ptyctl/term"
)

// Every argument that is a pattern is bounded.
func TestRegexpRefused(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{SSH: sshserver.Config{Handler: mcptest.Echo}})
	l.Open("")
	large := strings.Repeat("x{0,1000}", 455)
	for field, arguments := range map[string]string{
		"until_regex":                     `"action":"read","until_regex":"` + large + `"`,
		"input_hints.wait_for_regexes[1]": `"action":"read","input_hints":{"wait_for_regexes":["ok","` + large + `"]}`,
		"input_hints.wait_for_regexes":    `"action":"read","input_hints":{"wait_for_regexes":["a"` + strings.Repeat(`,"a"`, schema.MaxPatterns) + `]}`,
	} {
		if r := l.Fails(mcptest.IOTool, `{"session_id":"$S",`+arguments+`}`, term.InvalidArgument,
			field); r.Details.Field != field {
			t.Errorf("%s: %s", field, r.Text)
		}
	}
	for field, member := range map[string]string{
		"expect.prompt_regex":     `"prompt_regex":"` + large + `"`,
		"expect.pager_regexes[0]": `"pager_regexes":["` + large + `"]`,
	} {
		if r := l.Fails(mcptest.ExecTool, `{"session_id":"$S","cmd":"true","expect":{`+member+`}}`, term.InvalidArgument,
			"shorten the repeat counts"); r.Details.Field != field {
			t.Errorf("%s: %s", field, r.Text)
		}
	}
}
