package quote_test

import (
	"testing"

	"ptyctl/quote"
)

func TestLine(t *testing.T) {
	for _, c := range []struct {
		class string
		words []string
		want  string
	}{
		{quote.Posix, []string{"ls", "-l", "/a b"}, `'ls' '-l' '/a b'`},
		{quote.Posix, []string{"it's", ""}, `'it'\''s' ''`},
		{quote.Fish, []string{`a\b`, `'\'`}, `'a'\\'b' \'\\\'`},
		{quote.Csh, []string{"wow!", "$x"}, `'wow'\! '$x'`},
		{quote.Posix, []string{"a\nb"}, "'a\nb'"},
		{quote.Csh, []string{"a\nb"}, "'a\\\nb'"},
		{"device", []string{"show", "ip", "int:0/1.2"}, "show ip int:0/1.2"},
	} {
		got, err := quote.Line(c.class, c.words)
		if err != nil || got != c.want {
			t.Errorf("Line(%q, %q) = %s, %v, want %s", c.class, c.words, got, err, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, class := range []string{"", "device", "cmd", "powershell", "unknown"} {
		for _, w := range []string{
			"", "a b", "a;b", "a|b", "%PATH%", "$x", "a'b", `a"b`, "a`b", "a\nb", "a?", "a*", "a&b",
			"é", "a^b", "a=b", "a,b", "@a", "!a", "~a", "#a",
		} {
			if got, err := quote.Word(class, w); err == nil {
				t.Errorf("Word(%q, %q) = %s, want an error: the class has no quotes", class, w, got)
			}
		}
	}
	for _, class := range []string{quote.Posix, quote.Fish, quote.Csh, "device"} {
		if got, err := quote.Word(class, "a\x00b"); err == nil {
			t.Errorf("Word(%q, NUL) = %q, want an error", class, got)
		}
	}
}

func TestShow(t *testing.T) {
	for want, words := range map[string][]string{
		`ls -l /tmp/a_b.c`:           {"ls", "-l", "/tmp/a_b.c"},
		`sh -c 'echo "$HOME"; ls'`:   {"sh", "-c", `echo "$HOME"; ls`},
		`echo '' 'it'\''s' 'ä'`:      {"echo", "", "it's", "ä"},
		"ptyctl doctor web1":         {"ptyctl", "doctor", "web1"},
		"a 'b c' ''":                 {"a", "b c", ""},
		`'it'\''s' --to=me@h:22,a+b`: {"it's", "--to=me@h:22,a+b"},
		"'$HOME' '*' 'ä'":            {"$HOME", "*", "ä"},
	} {
		if got := quote.Show(words); got != want {
			t.Errorf("Show(%q) = %s, want %s", words, got, want)
		}
	}
}
