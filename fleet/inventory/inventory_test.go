package inventory

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// describe writes an inventory as text.
func describe(inv *Inventory) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", inv.Format)
	for _, h := range inv.Hosts {
		fmt.Fprintf(&b, "host %s", h.Name)
		if h.Address != "" {
			fmt.Fprintf(&b, " address=%s", h.Address)
		}
		if h.User != "" {
			fmt.Fprintf(&b, " user=%s", h.User)
		}
		if h.Port != 0 {
			fmt.Fprintf(&b, " port=%d", h.Port)
		}
		if h.Problem != "" {
			fmt.Fprintf(&b, " problem=%q", h.Problem)
		}
		fmt.Fprintf(&b, " line=%d\n", h.Line)
	}
	for _, g := range inv.Groups {
		members, _ := inv.Members(g.Name)
		fmt.Fprintf(&b, "group %s hosts=%q children=%q members=%d\n", g.Name, g.Hosts, g.Children, len(members))
	}
	for _, i := range inv.Ignored {
		fmt.Fprintf(&b, "ignored %s: %d\n", i.What, i.Count)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	for _, name := range []string{"hosts", "hosts.yaml", "genders", "list.json"} {
		read := Read
		if name == "genders" {
			read = ReadGenders
		}
		inv, err := read(filepath.Join("testdata", name))
		if err != nil {
			t.Errorf("Read(%s): %v", name, err)
			continue
		}
		got, golden := describe(inv), filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
			t.Errorf("Read(%s) =\n%s\nwant the text of %s (go test -update writes it)", name, got, golden)
		}
		if strings.Contains(got, "hunter2") {
			t.Errorf("Read(%s) shows the value of a variable:\n%s", name, got)
		}
	}
}
