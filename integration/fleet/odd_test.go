package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// slow matches the duration in the result of a call that took a second: it depends on the load of the machine.
var slow = regexp.MustCompile(`,"duration_ms":\d+`)

// One host of twelve is different: that takes one call, and a part of the bytes of twelve calls of exec.
func TestOddOneOut(t *testing.T) {
	t.Parallel()
	const hosts, odd = 12, 4
	r := lab.NewRack(t, hosts, hosts)
	c := connect(t, r)
	for _, tt := range []struct {
		name    string
		lines   int
		percent int // of the bytes of twelve calls, at most
	}{{"a line", 1, 15}, {"a list", 7, 15}, {"a file of 1 KB", 40, 5}, {"a file of 10 KB", 400, 5}} {
		t.Run(tt.name, func(t *testing.T) {
			var same strings.Builder
			for i := range tt.lines {
				fmt.Fprintf(&same, "option_%03d = value %03d\n", i+1, i*37%1000)
			}
			at := fmt.Sprintf("%03d", tt.lines/2+1)
			if err := os.WriteFile(filepath.Join(r.Dir, "same"), []byte(same.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			r.Does(t, odd, "sed 's/^option_"+at+" = .*/option_"+at+" = other/' same; exit")
			sum := 0
			for i := range hosts {
				sum += len(slow.ReplaceAllString(c.Call(t, lab.ToolExec, `{"host":%s,"cmd":%s}`, r.Name(i), r.Command).Text, ""))
			}
			a := call(t, c, `{"action":"run","hosts":[%s],"cmd":%s}`, r.Hosts(), r.Command)
			text := slow.ReplaceAllString(a.text, "")
			if len(a.Groups) != 2 || a.Groups[0].N != 11 || a.Groups[1].Hosts != r.Name(odd) || !strings.Contains(a.text, "option_"+at+" = other") {
				t.Errorf("the answer: %s; want that %s has another option_%s", a.text, r.Name(odd), at)
			}
			t.Logf("%d bytes, 12 calls %d: %.1f %%", len(text), sum, 100*float64(len(text))/float64(sum))
			if 100*len(text) > tt.percent*sum {
				t.Errorf("%d bytes, and 12 calls of exec %d: want at most %d %%:\n%s", len(text), sum, tt.percent, text)
			}
		})
	}
}
