package sshconfig

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestAliases(t *testing.T) {
	home := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write(".ssh/config.d/a", "Host inc1 \"inc 2\" inc3\n")
	user := write(
		".ssh/config",
		"Host web1 web2 *.example !web3 db?\n Port 1\nHost other\n Include config.d/*\nHost 'broken\nMatch exec \"touch "+home+"/ran\"\n Include config.d/*\nHost web1\n",
	)
	system := write("system", "host = gw\nHost *\n")
	got, err := Aliases(t.Context(), Options{HomeDir: home, LocalUser: "me", UserFile: user, SystemFile: system})
	if want := []string{"gw", "inc1", "inc3", "other", "web1", "web2"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if _, err := os.Stat(filepath.Join(home, "ran")); err == nil {
		t.Error("a program was run")
	}
	o := Options{HomeDir: home, LocalUser: "me", UserFile: "none", SystemFile: "none"}
	if got, err := Aliases(t.Context(), o); err != nil ||
		len(got) != 0 {
		t.Errorf("without files: %q, %v", got, err)
	}
}
