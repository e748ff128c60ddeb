package fleethosts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/fleet/nodes"
)

func TestPrint(t *testing.T) {
	dir := t.TempDir()
	inventory, program := filepath.Join(dir, "site.ini"), filepath.Join(dir, "program.yaml")
	for path, text := range map[string]string{
		inventory: "web1 ansible_host=192.0.2.1 ansible_port=2200 x=1\nweb2 x=2\n[web]\nweb[1:2]\n",
		program:   "plugin: cloud\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	book := nodes.Sources{Groups: map[string]string{"lb": "lb[1-2]"}, GroupsFrom: "[groups]", Inventories: []string{inventory, program}}.
		Read(t.Context())
	sel, err := book.Select([]string{"@web,@lb!lb2,other"}, nodes.DefaultMost)
	if err != nil {
		t.Fatalf("Select: %v", err)
	}
	var b strings.Builder
	if err := New(book, sel).Print(&b, 200); err != nil {
		t.Fatalf("Print: %v", err)
	}
	want := `HOST   ADDRESS    PORT  FROM
web1   192.0.2.1  2200  @web of DIR/site.ini:1
web2                    @web of DIR/site.ini:2
lb1                     @lb of [groups]
other                   given
4 hosts: lb1,other,web[1-2]
note: the source program was not read: DIR/program.yaml:1: it configures a plugin that would ask a service for hosts: plugins are never run; save the result of ansible-inventory --list --yaml as a file
source groups ([groups]): groups @lb
source site (DIR/site.ini): 2 hosts; groups @all, @ungrouped, @web; ignored the variable x (2)
source program (DIR/program.yaml): not read: DIR/program.yaml:1: it configures a plugin that would ask a service for hosts: plugins are never run; save the result of ansible-inventory --list --yaml as a file
`
	if got := strings.ReplaceAll(strings.ReplaceAll(b.String(), dir, "DIR"), `\`, "/"); got != want {
		t.Errorf("Print wrote\n%s\nwant\n%s", got, want)
	}
	b.Reset()
	if err := New(nodes.Sources{}.Read(t.Context()), nil).Print(&b, 200); err != nil || b.String() != "No source knows a host or a group.\n" {
		t.Errorf("Print without sources wrote %q, %v", b.String(), err)
	}
}
