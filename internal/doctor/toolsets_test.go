package doctor

import (
	"os"
	"strings"
	"testing"

	"ptyctl/config"
)

// The program of the tool set r2 is looked for where the set is offered.
func TestToolsets(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sets    []string
		program string
		want    []string
		do      string
	}{
		{nil, "no-such-radare2", nil, ""},
		{[]string{"core", "r2"}, "no-such-radare2", []string{failing}, "toolsets.r2.program"},
		{[]string{"r2"}, self, []string{fine}, ""},
	} {
		var r Report
		r.toolsets(config.Config{Server: config.Server{Toolsets: c.sets}, Toolsets: config.Toolsets{R2: config.R2Tools{Program: c.program}}})
		if len(r.Findings) != len(c.want) || len(c.want) > 0 && (r.Findings[0].Status != c.want[0] || !strings.Contains(r.Findings[0].Do, c.do)) {
			t.Errorf("toolsets %q with the program %s: %+v, want %v and %q", c.sets, c.program, r.Findings, c.want, c.do)
		}
	}
}
