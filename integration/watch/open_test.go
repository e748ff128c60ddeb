package watch

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// ptyctl watch opens the browser by the system's program, and hands it a file that only the user can read: the link is in
// no argument. Where no browser can be opened it says why, and prints the link.
func TestOpenBrowser(t *testing.T) {
	h := lab.NewHome(t)
	h.Connect(t)
	bin := t.TempDir()
	seen := filepath.Join(bin, "seen")
	program := func(script string) {
		h.Write(t, filepath.Join(bin, "xdg-open"), "#!/bin/sh\n"+script)
		if err := os.Chmod(filepath.Join(bin, "xdg-open"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const display = "DISPLAY=:7"
	with := []string{"PATH=" + bin + ":/usr/bin:/bin", display, "THE_VALUE=browsed-1138"}
	h.Write(t, h.Config, string(lab.ReadFile(t, h.Config))+"[secret.web]\nsource = 'env:THE_VALUE'\nhosts = ['web1']\n")

	program(fmt.Sprintf("printf '%%s\\n' \"$#\" \"$1\" >%[1]s.new; stat -c %%a \"$1\" >>%[1]s.new; cat \"$1\" >>%[1]s.new; "+
		"env >%[1]s.env; mv %[1]s.new %[1]s", seen))
	p := startWatch(t, h, with)
	lab.Eventually(t, "ptyctl says that the page is open", func() bool {
		return strings.Contains(p.log.String(), "the page is in your browser")
	})
	text, err := os.ReadFile(seen)
	if err != nil {
		t.Fatalf("the program that opens a browser was not started: %v", err)
	}
	if env := lab.ReadFile(t, seen+".env"); !strings.Contains(string(env), "DISPLAY=") || strings.Contains(string(env), "THE_VALUE") {
		t.Errorf("the program has the environment %s, want it without the variable of a secret", env)
	}
	lines := strings.SplitN(string(text), "\n", 4)
	if len(lines) != 4 || lines[0] != "1" || lines[2] != "600" || !strings.HasPrefix(lines[1], h.RuntimeDir) {
		t.Fatalf("the program got %q, want one file of the runtime folder with the mode 600", lines)
	}
	_, link, _ := strings.Cut(lines[3], "0;url=")
	link, _, _ = strings.Cut(link, `"`)
	base, ticket, _ := strings.Cut(link, "/#ticket=")
	if strings.Contains(lines[1], ticket) || ticket == "" {
		t.Errorf("the ticket of the link %q is in the argument %q, want it in the file alone", link, lines[1])
	}
	if status, text, _ := ask(t, http.MethodPost, base+"/api/login", `{"ticket":"`+ticket+`"}`,
		"Origin", base, "Content-Type", "application/json"); status != http.StatusOK {
		t.Errorf("the ticket in the file = %d %s, want a token", status, text)
	}
	p.stop()
	if _, err := os.Stat(lines[1]); err == nil {
		t.Errorf("the file %s is still there after the end of ptyctl watch", lines[1])
	}

	for name, tt := range map[string]struct {
		script string // empty: there is no such program
		env    []string
		says   string
	}{
		"it fails":            {"exit 3", with, "exit status 3"},
		"there is none":       {"", with, "xdg-open"},
		"there is no display": {"exit 0", with[:1], "there is no display"},
	} {
		t.Run(name, func(t *testing.T) {
			if program(tt.script); tt.script == "" {
				_ = os.Remove(filepath.Join(bin, "xdg-open"))
				tt.env = []string{"PATH=" + bin, display}
			}
			p := startWatch(t, h, tt.env)
			link := p.link()
			lab.Eventually(t, "ptyctl watch says why no browser can be opened: "+tt.says, func() bool {
				said := p.log.String()
				return strings.Contains(said, "no browser can be opened") && strings.Contains(said, tt.says)
			})
			if !strings.HasPrefix(link, "http://127.0.0.1:") || !strings.Contains(link, "/#ticket=") {
				t.Errorf("ptyctl watch prints %q, want the link", link)
			}
		})
	}
}
