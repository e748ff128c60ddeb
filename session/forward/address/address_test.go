package address_test

import (
	"net/netip"
	"strings"
	"testing"

	"ptyctl/session/forward/address"
)

// TestParse: each spelling has one form, or is refused with the reason.
func TestParse(t *testing.T) {
	for _, tt := range []struct{ text, want, problem string }{
		{"db1:5432", "db1:5432", ""},
		{"DB1.Example.NET.:5432", "db1.example.net:5432", ""},
		{"localhost:1", "localhost:1", ""},
		{"_srv.x-1.net:65535", "_srv.x-1.net:65535", ""},
		{"xn--bcher-kva.example:80", "xn--bcher-kva.example:80", ""},
		{"10.0.0.7:443", "10.0.0.7:443", ""},
		{"10.0.0.7.:443", "10.0.0.7:443", ""},
		{"[2001:DB8:0:0:0:0:0:5]:443", "[2001:db8::5]:443", ""},
		{"[::ffff:10.0.0.7]:443", "10.0.0.7:443", ""},
		{"[::ffff:a00:7]:443", "10.0.0.7:443", ""},
		{"[::10.0.0.7]:443", "[::a00:7]:443", ""}, // another address: RFC 4291 section 2.5.5.1
		{"[::1]:443", "[::1]:443", ""},
		{"1.example:80", "1.example:80", ""},
		{"0x7f.example:80", "0x7f.example:80", ""},

		{"", "", "no port"},
		{"db1", "", "no port"},
		{"db1:", "", "no port from"},
		{":5432", "", "no host"},
		{"db1:0", "", "no port from"},
		{"db1:65536", "", "no port from"},
		{"db1:05432", "", "no port from"},
		{"db1:+5432", "", "no port from"},
		{"db1:-1", "", "no port from"},
		{"db1:5_4", "", "no port from"},
		{"db1:0x10", "", "no port from"},
		{"db1:5432 ", "", "blank"},
		{" db1:5432", "", "blank"},
		{"db1\n:5432", "", "blank"},
		{"db1\x00:5432", "", "blank"},
		{"db1:5432\x00", "", "blank"},
		{"db1\t:5432", "", "blank"},
		{"d\x7fb1:5432", "", "blank"},
		{"bücher.example:80", "", "beyond ASCII"},
		{"db1。example:80", "", "beyond ASCII"}, // a full stop that IDNA reads as a dot
		{"１0.0.0.7:80", "", "beyond ASCII"},    // digits of full width
		{"db1:5432:5432", "", "more than one colon"},
		{"::1:5432", "", "more than one colon"},
		{"fe80::1%eth0:22", "", "more than one colon"},
		{"[fe80::1%eth0]:22", "", "zone"},
		{"[::1%]:22", "", "no IPv6 address"},
		{"[10.0.0.7]:22", "", "IPv4 address in brackets"},
		{"[db1]:22", "", "no IPv6 address"},
		{"[::1]22", "", "no port after the bracket"},
		{"[::1]", "", "no port after the bracket"},
		{"[::1", "", "no port after the bracket"},
		{"[]:22", "", "no IPv6 address"},
		{"::1]:22", "", "more than one colon"},
		{"127.1:80", "", "may be read as an address"},
		{"127.0.1:80", "", "may be read as an address"},
		{"2130706433:80", "", "may be read as an address"},
		{"0x7f000001:80", "", "may be read as an address"},
		{"0X7F.1:80", "", "may be read as an address"},
		{"0x7f.0x0.0x0.0x1:80", "", "may be read as an address"},
		{"0x:80", "", "may be read as an address"},
		{"017700000001:80", "", "may be read as an address"},
		{"0177.0.0.1:80", "", "may be read as an address"},
		{"010.0.0.7:80", "", "may be read as an address"},
		{"10.0.0.07:80", "", "may be read as an address"},
		{"10.0.0.256:80", "", "may be read as an address"},
		{"10.0.0.7.8:80", "", "may be read as an address"},
		{"evil.10:80", "", "may be read as an address"},
		{"db1..net:80", "", "empty part"},
		{".db1:80", "", "empty part"},
		{"db1..:80", "", "empty part"},
		{".:80", "", "empty part"},
		{"-db1:80", "", "dash"},
		{"db1-.net:80", "", "dash"},
		{"*:80", "", "'*' in its name"},
		{"db?:80", "", "'?' in its name"},
		{"/run/db.sock:80", "", "'/' in its name"},
		{"user@db1:80", "", "'@' in its name"},
		{"db1%2e:80", "", "'%' in its name"},
		{"db1\\:80", "", "'\\\\' in its name"},
		{strings.Repeat("a", 64) + ":80", "", "63 characters"},
		{strings.Repeat("a.", 127) + "ab:80", "", "253 characters"},
		{strings.Repeat("a", 300) + ":80", "", "longer than"},
	} {
		got, err := address.Parse(tt.text)
		if tt.problem != "" {
			if err == nil || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("Parse(%q) = %v, %v, want an error with %q", tt.text, got, err, tt.problem)
			}
			continue
		}
		if err != nil || got.String() != tt.want {
			t.Errorf("Parse(%q) = %v, %v, want %s", tt.text, got, err, tt.want)
		}
	}
}

// TestMatches: a pattern allows only the addresses that it matches, in no other spelling.
func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		yes, no []string
	}{
		{
			"db1:5432",
			[]string{"db1:5432", "DB1.:5432"},
			[]string{"db1:5433", "db2:5432", "db1.evil.net:5432", "evil.db1:5432", "xdb1:5432", "127.0.0.1:5432"},
		},
		{
			"10.0.0.*:443",
			[]string{"10.0.0.1:443", "10.0.0.255:443", "[::ffff:10.0.0.1]:443"},
			[]string{
				"10.0.1.1:443", "10.0.0.1:80", "10.0.0.evil.net:443", "10.0.0.x:443", "110.0.0.1:443", "[::10.0.0.1]:443",
				"[64:ff9b::10.0.0.1]:443", "[2002:a00:1::]:443", // by NAT64 and 6to4: other addresses
			},
		},
		{"10.0.0.1?:443", []string{"10.0.0.10:443"}, []string{"10.0.0.1:443", "10.0.0.100:443"}},
		{"*.*.*.*:443", []string{"10.0.0.1:443"}, []string{"a.b.c.d:443"}},
		{"*:80", []string{"db1:80", "localhost:80"}, []string{"a.b:80", "10.0.0.1:80", "[::1]:80"}},
		{"*.example.net:*", []string{"a.example.net:1", "A.EXAMPLE.net:65535"}, []string{"example.net:1", "a.b.example.net:1"}},
		{"db1:54*", []string{"db1:54", "db1:5432"}, []string{"db1:5532", "db1:154"}},
		{"db1:?", []string{"db1:9"}, []string{"db1:10"}},
		{"localhost:80", []string{"localhost:80"}, []string{"127.0.0.1:80", "[::1]:80", "localhost.localdomain:80"}},
		{"127.0.0.1:80", []string{"127.0.0.1:80", "[::ffff:7f00:1]:80"}, []string{"localhost:80", "[::1]:80", "127.0.0.2:80"}},
		{"[::1]:80", []string{"[::1]:80", "[0:0:0:0:0:0:0:1]:80"}, []string{"127.0.0.1:80", "localhost:80"}},
		{"[::ffff:10.0.0.1]:80", []string{"10.0.0.1:80"}, []string{"[::10.0.0.1]:80"}},
		{
			"[2001:db8:0:0:0:0:0:*]:80",
			[]string{"[2001:db8::1]:80", "[2001:db8::]:80"},
			[]string{"[2001:db8::1:1]:80", "[2001:db9::1]:80"},
		},
		{"DB*.Net.:80", []string{"db.net:80", "dbx.net:80"}, []string{"d.net:80"}},
	} {
		p, err := address.ParsePattern(tt.pattern)
		if err != nil {
			t.Errorf("ParsePattern(%q): %v", tt.pattern, err)
			continue
		}
		for _, text := range tt.yes {
			if a, err := address.Parse(text); err != nil || !p.Matches(a) {
				t.Errorf("%s allows %s = false (%v), want true", tt.pattern, text, err)
			}
		}
		for _, text := range tt.no {
			if a, err := address.Parse(text); err == nil && p.Matches(a) {
				t.Errorf("%s allows %s = true, want false", tt.pattern, text)
			}
		}
	}
}

// TestParsePatternRefuses: an entry is refused if it cannot match the intended addresses.
func TestParsePatternRefuses(t *testing.T) {
	for _, text := range []string{
		"", "db1", "*", ":5432", "db1:", "db1:http", "db1:0", "db1:0*", "10.0.*:443", "10.*:443", "1*:443", "10.0.0.300:443",
		"10.0.00.*:443", "10.0.0.0/24:443", "2001:db8::*:443", "[2001:db8::*]:443", "[2001:db8:0:0:0:0:00:*]:443", "[*]:443",
		"[fe80::1%eth0]:443", "a..b:443", "-a:443", "0x7f.1:443", "db1 :443", "büro:443", "db[12]:443", "db1:443,db2:443",
	} {
		if p, err := address.ParsePattern(text); err == nil {
			t.Errorf("ParsePattern(%q) = %v, want an error", text, p)
		}
	}
}

// TestParsePatternAdvises: an entry in another notation is refused with the one to use.
func TestParsePatternAdvises(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.0/24:443":            "10.0.0.*:443",
		"10.0.0.0/24":                "10.0.0.*:443",
		"[2001:db8::/32]:443":        "write * for any number",
		"http://db1:80/":             "nor URLs",
		"[0:0:0:0:0:ffff:a00:*]:443": "write it as 10.0.0.*",
	} {
		if p, err := address.ParsePattern(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParsePattern(%q) = %v, %v; want an error with %q", text, p, err, want)
		}
	}
}

// FuzzParse: an address has one form, which is read as itself, and is a name or an address and never both.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"db1:5432", "[::ffff:1.2.3.4]:1", "0x7f.1:80", "10.0.0.1.:443", "a.b.C.:65535"} {
		f.Add(seed)
	}
	addresses, err := address.ParsePattern("*.*.*.*:*")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := address.Parse(text)
		if err != nil {
			return
		}
		again, err := address.Parse(a.String())
		if err != nil || again != a {
			t.Fatalf("Parse(%q) = %v, which is read as %v, %v", text, a, again, err)
		}
		ip, err := netip.ParseAddr(a.Host)
		if is4 := err == nil && ip.Is4(); addresses.Matches(a) != is4 {
			t.Fatalf("Parse(%q) = %v: the pattern of IPv4 addresses allows it = %v, want %v", text, a, !is4, is4)
		}
		if err != nil && a.Host != strings.ToLower(a.Host) {
			t.Fatalf("Parse(%q) = %v, want lower case", text, a)
		}
		if exact, err := address.ParsePattern(a.String()); err != nil || !exact.Matches(a) {
			t.Fatalf("%v as a pattern does not allow itself (%v)", a, err)
		}
	})
}
