package inventory

import (
	"bufio"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestAnsible compares with the output of ansible-inventory for the same files; testdata/ansible/generate recorded
// it.
func TestAnsible(t *testing.T) {
	f, err := os.Open("testdata/ansible/golden")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := make(map[string][]string)
	var file string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "file "); ok {
			file = name
		} else if !strings.HasPrefix(lines.Text(), "#") {
			want[file] = append(want[file], lines.Text())
		}
	}
	if len(want) < 3 {
		t.Fatalf("testdata/ansible/golden has %d files, want at least 3", len(want))
	}
	for file, want := range want {
		inv, err := Read(filepath.Join("testdata/ansible", file))
		if err != nil {
			t.Errorf("Read(%s): %v", file, err)
			continue
		}
		var got []string
		for _, h := range inv.Hosts {
			port := "-"
			if h.Port > 0 {
				port = strconv.Itoa(h.Port)
			}
			line := []string{h.Name, cmp.Or(h.Address, "-"), cmp.Or(h.User, "-"), port}
			var groups []string
			for _, g := range inv.Groups {
				if names, _ := inv.Members(g.Name); slices.Contains(names, h.Name) {
					groups = append(groups, g.Name)
				}
			}
			slices.Sort(groups)
			got = append(got, strings.Join(append(line, groups...), " "))
		}
		slices.Sort(got)
		slices.Sort(want)
		for i := range max(len(got), len(want)) {
			g, w := "nothing", "nothing"
			if i < len(got) {
				g = got[i]
			}
			if i < len(want) {
				w = want[i]
			}
			if g != w {
				t.Errorf("Read(%s) has the host %s, want %s", file, g, w)
			}
		}
	}
}
