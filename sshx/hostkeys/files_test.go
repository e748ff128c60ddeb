package hostkeys

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

func TestFiles(t *testing.T) {
	k := keys()
	missing := filepath.Join(t.TempDir(), "missing")
	user := writeLines(t, "other "+text(k.rsa))
	global := writeLines(t, "# global", "server "+text(k.ed))
	v, err := NewVerifier("Server", 0, nil, Options{
		UserFiles: []string{missing, user, filepath.Join(user, "below a file")}, GlobalFiles: []string{global, os.DevNull},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := verify(t, v, k.ed); err != nil {
		t.Fatal(err)
	}
	r := v.Result()
	want := Entry{File: global, Line: 2, Names: "server", Type: ssh.KeyAlgoED25519, Fingerprint: fingerprint(k.ed)}
	if r.Entry == nil || *r.Entry != want || r.Name != "server" {
		t.Errorf("%+v, entry %+v", r, r.Entry)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "below a file") {
		t.Errorf("warnings %q, want one about the file that cannot be read", r.Warnings)
	}
}

func TestWarnings(t *testing.T) {
	k := keys()
	lines := []string{
		"# fine", "server", "server ssh-ed25519 %%%", "@nonsense server " + text(k.ed), "|1|x|y " + text(k.ed),
		"other 1024 35 123456", "server ssh-new AAAAB3NzaC1uZXcAAAABAA", "server " + text(k.ed),
		"\r", "# CR \r", "other " + text(k.rsa) + "\r",
	}
	v := verifier(t, 22, Options{}, lines...)
	if err := verify(t, v, k.ed); err != nil {
		t.Fatal(err)
	}
	got := v.Result().Warnings
	for _, n := range []int{2, 3, 4, 5, 6, 7} {
		if !strings.Contains(strings.Join(got, "\n"), fmt.Sprintf("%s:%d: ", v.o.UserFiles[0], n)) {
			t.Errorf("no warning about line %d in\n%s", n, strings.Join(got, "\n"))
		}
	}
	if len(got) != 6 {
		t.Errorf("%d warnings, want 6:\n%s", len(got), strings.Join(got, "\n"))
	}
	many := verifier(t, 22, Options{}, strings.Repeat("bad\n", 1000)).Result().Warnings
	if len(many) != maxWarnings+1 || !strings.Contains(many[maxWarnings], "980 more") {
		t.Errorf("%d warnings, the last %q", len(many), many[len(many)-1])
	}
}

func TestTooLarge(t *testing.T) {
	name := filepath.Join(t.TempDir(), "known_hosts")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(maxFileSize + 1); err != nil {
		t.Fatal(err)
	}
	if _, err := NewVerifier("server", 22, nil, Options{UserFiles: []string{name}}); !errors.Is(err, errTooLarge) {
		t.Error(err)
	}
}

func TestRevokedFiles(t *testing.T) {
	k := keys()
	cert := hostCert(t, k.ca, k.ed, nil, "server")
	trust := []string{"server " + text(k.ed), "@cert-authority * " + text(k.ca)}
	for _, c := range []struct {
		name   string
		list   string
		server ssh.Signer
		want   verdict
	}{
		{"empty", "", k.ed, accept},
		{"others", "# stolen\n\n" + text(k.rsa) + " of old\n", k.ed, accept},
		{"the key", text(k.rsa) + "\n" + text(k.ed), k.ed, revoked},
		{"CRLF", text(k.ed) + "\r\n", k.ed, revoked},
		{"the authority", text(k.ca), cert, revoked},
		{"the certified key", text(k.ed), cert, revoked},
		{"the certificate", text(cert), cert, revoked},
		{"another certificate of the key", text(cert), k.ed, accept},
		{"a type nobody knows", "ssh-new AAAAB3NzaC1uZXcAAAABAA", k.ed, accept},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{RevokedFiles: []string{writeLines(t, "# none"), writeLines(t, c.list)}}
			for _, o.Policy = range []Policy{Strict, Disabled} {
				err := handshake(t, verifier(t, 22, o, trust...), c.server)
				if got := verdictOf(t, err); got != c.want {
					t.Errorf("%s: got %s, want %s (%v)", o.Policy, got, c.want, err)
				}
				if r := (*RevokedError)(nil); errors.As(err, &r) && (r.Entry.File != o.RevokedFiles[1] || r.Entry.Line == 0) {
					t.Errorf("the error does not say where: %+v", r)
				}
			}
		})
	}
}

func TestRevokedFilesThatCannotBeRead(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"missing", filepath.Join(t.TempDir(), "missing"), "missing"},
		{"directory", t.TempDir(), "is a directory"},
		{"device", os.DevNull, "regular file"},
		{"KRL", writeLines(t, krlMagic+"\x00\x00\x00\x01"), "KRL"},
		{"rubbish", writeLines(t, "# first", "rubbish"), "known_hosts:2"},
		{"private key", writeLines(t, "-----BEGIN OPENSSH PRIVATE KEY-----", "b3BlbnNzaC1rZXktdjEAAAAA"), "known_hosts:1"},
	} {
		v, err := NewVerifier("server", 22, nil, Options{Policy: Disabled, RevokedFiles: []string{c.file}})
		if err == nil || v != nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "b3Bl") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestNames(t *testing.T) {
	ip := net.ParseIP("192.0.2.7")
	for _, c := range []struct {
		host string
		port int
		o    Options
		want hostNames
	}{
		{"Web1.Example.ORG", 22, Options{}, hostNames{name: "web1.example.org", cert: "web1.example.org"}},
		{"web1", 0, Options{}, hostNames{name: "web1", cert: "web1"}},
		{"web1", 2201, Options{}, hostNames{name: "[web1]:2201", bare: "web1", cert: "web1"}},
		{"web1", 2201, Options{Alias: "nick", CheckIP: true}, hostNames{name: "nick", cert: "nick", ip: "[192.0.2.7]:2201"}},
		{"192.0.2.7", 22, Options{CheckIP: true}, hostNames{name: "192.0.2.7", cert: "192.0.2.7"}},
		{"2001:DB8:0::1", 22, Options{}, hostNames{name: "2001:db8::1", cert: "2001:db8::1"}},
		{"[2001:DB8:0::1]", 2201, Options{}, hostNames{name: "[2001:db8::1]:2201", bare: "2001:db8::1", cert: "2001:db8::1"}},
		{"fe80::1%eth0", 2201, Options{}, hostNames{name: "[fe80::1%eth0]:2201", bare: "fe80::1%eth0", cert: "fe80::1%eth0"}},
	} {
		if got := newHostNames(c.host, c.port, ip, c.o); got != c.want {
			t.Errorf("%s:%d: %+v, want %+v", c.host, c.port, got, c.want)
		}
		if got := newHostNames(c.host, c.port, ip, c.o); !recordable(got.name) {
			t.Errorf("%s cannot be recorded", got.name)
		}
	}
}

func TestErrorTexts(t *testing.T) {
	e := Entry{File: "/k", Line: 7, Names: "old\x1b[2J", Type: "ssh-rsa", Fingerprint: "SHA256:old"}
	for _, c := range []struct {
		err  error
		want []string
	}{
		{
			&UnknownError{
				Name: "h", Floor: AcceptNew, Type: "ssh-ed25519", Fingerprint: "SHA256:new", Files: []string{"/k"},
				OtherNames: []Entry{e}, Certificate: "it expired",
			},
			[]string{`"h"`, "ssh-ed25519", "SHA256:new", "/k:7", "it expired", "accept_new", "fingerprint", "ssh-keyscan"},
		},
		{&UnknownError{Name: "h"}, []string{"no known_hosts file"}},
		{&UnknownError{Name: "h", Declined: true}, []string{"answered with no"}},
		{
			&UnknownError{Name: "h", Policy: AcceptNew, Floor: AcceptNew, Unwritable: "full"},
			[]string{"accept_new cannot record it: full", "make a known_hosts file writable, or pin"},
		},
		{&MismatchError{Name: "h", Fingerprint: "SHA256:new", Recorded: []Entry{e}}, []string{"SHA256:new", "SHA256:old", "/k:7", "attack"}},
		{&MismatchError{Name: "h", Pinned: "SHA256:pin"}, []string{"SHA256:pin", "fingerprint"}},
		{&MismatchError{Name: "h", Earlier: "SHA256:was"}, []string{"SHA256:was"}},
		{&RevokedError{Name: "h", Fingerprint: "SHA256:new", Entry: e}, []string{"authority", "/k:7"}},
		{&WeakKeyError{Name: "h", Bits: 1024, Required: 2048}, []string{"1024", "2048"}},
	} {
		for _, w := range c.want {
			if !strings.Contains(c.err.Error(), w) {
				t.Errorf("%q is missing in: %v", w, c.err)
			}
		}
		if strings.Contains(c.err.Error(), "cannot record it") && strings.Contains(c.err.Error(), "use policy accept_new") {
			t.Errorf("%q advises the policy in force", c.err)
		}
		if strings.ContainsAny(c.err.Error(), "\x1b\n") {
			t.Errorf("control characters in %q", c.err)
		}
	}
}
