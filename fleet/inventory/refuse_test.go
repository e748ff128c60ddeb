package inventory

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// write makes a file with the text.
func write(t testing.TB, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadRefuses(t *testing.T) {
	const secret = "hunter2"
	for _, tt := range []struct{ name, text, want string }{
		{"hosts", "#!/bin/sh\necho hunter2\n", "is a script"},
		{"hosts.toml", "[web]\n", "TOML"},
		{"hosts.yml", "plugin: amazon.aws.aws_ec2\nregions: [x]\n", "configures a plugin"},
		{"hosts", "$ANSIBLE_VAULT;1.1;AES256\n61\n", "Ansible Vault"},
		{"hosts", "web1\x00", "no text"},
		{"hosts", "web1 hunter2\n", `a word after the host "web1"`},
		{"hosts", "[web:vars]\nhunter2\n", "has no ="},
		{"hosts", "[web:strange]\n", "kind"},
		{"hosts", "web[1\n", "without a ]"},
		{"hosts", "web[5:1]\n", "no range"},
		{"hosts", "web[1:999999999]\n", "no range"},
		{"hosts", "w[1:9999]x[1:9999]\n", "more than"},
		{"hosts", "web1:99999\n", "port"},
		{"hosts", "web1 a='hunter2\n", "quote is not closed"},
		{"hosts", "-oProxyCommand=x\n", "no name of a host"},
		{"hosts", "a;b\x1b[31m\n", "no name of a host"},
		{"hosts", "alice@web1\n", "no name of a host"},
		{"hosts", "web*\n", "no name of a host"},
		{"hosts.yaml", "a: {hosts: {$(id): }}\n", "no name of a host"},
		{"hosts", "[a:children]\nb\n", "no group b"},
		{"hosts", "[a:children]\nb\n[b:children]\na\n", "contains itself: a > b > a"},
		{"hosts.yaml", "a: {children: {b: {children: {a: }}}}\n", "contains itself"},
		{"hosts.yaml", "a: [b: {c: d}]\n", "where a name must be"},
		{"hosts.yaml", "- a\n- b\n", "a list"},
		{"hosts.yaml", "a: {hosts: {[x]: 1}}\n", "a list"},
		{"hosts.yaml", "a: {hosts: 5}\n", "a single value"},
		{"hosts.yaml", "a: {hosts: *b}\n", "no YAML"},
		{"hosts.yaml", "a:\n\t- b: hunter2\n", "no YAML"},
		{"hosts.yaml", strings.Repeat("{a: ", 20000), "YAML"},
	} {
		_, err := Read(write(t, tt.name, tt.text, 0o600))
		if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.Error(), tt.want) {
			t.Errorf("Read of %.40q = %v, want an *Error with %q", tt.text, err, tt.want)
		} else if strings.Contains(e.Error(), secret) || strings.Contains(e.Error(), "\x1b") {
			t.Errorf("Read of %.40q = %v, which shows what it must not", tt.text, err)
		}
	}
	for text, want := range map[string]string{
		"web1 a b\n":           "a space",
		"web[1-999999999] a\n": "at most",
		"web1 a[b\n":           "no name of a group",
	} {
		if _, err := ReadGenders(write(t, "genders", text, 0o600)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadGenders of %q = %v, want %q", text, err, want)
		}
	}
}

func TestReadRefusesFiles(t *testing.T) {
	if _, err := Read(t.TempDir()); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("Read of a folder = %v, want an error that says so", err)
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Read of no file = %v, want os.ErrNotExist", err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if _, err := Read(write(t, "hosts", "web1\n", 0o755)); err == nil || !strings.Contains(err.Error(), "chmod a-x") {
		t.Errorf("Read of an executable file = %v, want a refusal with chmod a-x", err)
	}
	if _, err := Read(os.DevNull); err == nil || !strings.Contains(err.Error(), "plain file") {
		t.Errorf("Read of a device = %v, want a refusal", err)
	}
}

// TestAliasBomb reads a small file with aliases that expand to more than a billion hosts.
func TestAliasBomb(t *testing.T) {
	var b strings.Builder
	b.WriteString("x: {vars: &a0 {v: 1, w: 2}}\n")
	for i := 1; i < 40; i++ {
		fmt.Fprintf(&b, "y%d: {vars: &a%d {<<: [*a%d, *a%d, *a%d]}}\n", i, i, i-1, i-1, i-1)
	}
	path, begin := write(t, "hosts.yaml", b.String(), 0o600), time.Now()
	_, err := Read(path)
	if err == nil || !strings.Contains(err.Error(), "values, counted with those behind aliases") {
		t.Errorf("Read of an alias bomb = %v after %v, want a refusal of its size", err, time.Since(begin))
	}
}

func TestProblems(t *testing.T) {
	path := write(t, "hosts", `
good ansible_user=root
bad ansible_host="{{ x }}" ansible_user=root
evil ansible_host=-oProxyCommand=hunter2
user ansible_user="$(hunter2)"
port ansible_port=hunter2
[g]
saved ansible_host=192.0.2.1
other
[g:vars]
ansible_host=%h
`, 0o600)
	inv, err := Read(path)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	want := map[string]bool{"bad": true, "evil": true, "user": true, "port": true, "other": true}
	for _, h := range inv.Hosts {
		if (h.Problem != "") != want[h.Name] {
			t.Errorf("the host %s has the problem %q, want one: %v", h.Name, h.Problem, want[h.Name])
		}
		if strings.Contains(h.Problem, "hunter2") {
			t.Errorf("the problem of %s shows a value: %s", h.Name, h.Problem)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"hosts", "hosts.yaml", "genders", "list.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, read := range []func() (*Inventory, error){
			func() (*Inventory, error) { return newBuilder("f").ini(text) },
			func() (*Inventory, error) { return newBuilder("f").yaml(text) },
			func() (*Inventory, error) { return newBuilder("f").genders(text) },
		} {
			inv, err := read()
			if err != nil {
				if _, ok := errors.AsType[*Error](err); !ok {
					t.Errorf("read of %q = %v, want an *Error", text, err)
				}
				continue
			}
			known := make(map[string]bool)
			for _, h := range inv.Hosts {
				if known[h.Name] || strings.ContainsAny(h.Name+h.Address+h.User, " \n\x1b") || h.Port < 0 || h.Port > 65535 {
					t.Errorf("read of %q has the host %+v", text, h)
				}
				known[h.Name] = true
			}
			for _, g := range inv.Groups {
				names, _ := inv.Members(g.Name)
				for _, n := range names {
					if !known[n] {
						t.Errorf("read of %q: the group %s has the unknown host %s", text, g.Name, n)
					}
				}
			}
		}
	})
}

func ExampleRead() {
	inv, err := Read("testdata/hosts")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(inv.Members("lb"))
	fmt.Printf("%+v\n", inv.Ignored)
	// Output:
	// [2001:db8::1 lb1] true
	// [{What:the variable ansible_password Count:1} {What:the variable http_port Count:1} {What:the variable note Count:1} {What:the variable proxy Count:1}]
}
