package linediff

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	const base = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n"
	for _, tt := range []struct{ a, b, want string }{
		{base, base, ""},
		{"", "", ""},
		{base, strings.Replace(base, "e", "E", 1), "@@ 4\n d\n-e\n+E\n f\n"},
		{base, "x\n" + base, "@@ 1\n+x\n a\n"},
		{base, base + "x\n", "@@ 10\n j\n+x\n"},
		{base, strings.Replace(base, "a\n", "", 1), "@@ 1\n-a\n b\n"},
		{base, strings.Replace(base, "j\n", "", 1), "@@ 9\n i\n-j\n"},
		{base, strings.NewReplacer("b", "B", "i", "I").Replace(base), "@@ 1\n a\n-b\n+B\n c\n@@ 8\n h\n-i\n+I\n j\n"},
		{base, strings.NewReplacer("b", "B", "e", "E").Replace(base), "@@ 1\n a\n-b\n+B\n c\n d\n-e\n+E\n f\n"},
		{"", "x\ny\n", "@@ 1\n+x\n+y\n"},
		{"x\ny\n", "", "@@ 1\n-x\n-y\n"},
		{"x\n", "x", "@@ 1\n x\n+\\ no line feed at the end\n"},
		{"x\n", "y\n", "@@ 1\n-x\n+y\n"},
	} {
		if d := Compare(Lines(tt.a), Lines(tt.b), Options{}); d.Text != tt.want || d.More != 0 || d.TooDifferent {
			t.Errorf("Compare(%q, %q) = %+v, want the text %q", tt.a, tt.b, d, tt.want)
		}
	}
}

func TestBounds(t *testing.T) {
	var a, b []string
	for i := range 100 {
		a = append(a, fmt.Sprint(i))
		if b = append(b, fmt.Sprint(i)); i%10 == 5 {
			b[i] = "changed"
		}
	}
	d := Compare(a, b, Options{Hunks: 3})
	if strings.Count(d.Text, "@@") != 3 || d.Removed != 10 || d.Added != 10 || d.More != 14 {
		t.Errorf("Compare with 3 hunks = %+v, want 3 hunks and 14 lines more", d)
	}
	d = Compare(a, b, Options{Lines: 6})
	if strings.Count(d.Text, "\n") != 8 || d.More != 17 {
		t.Errorf("Compare with 6 lines = %+v, want 6 lines of 2 hunks and 17 more", d)
	}
	many := make([]string, maxEdits+1)
	for i := range many {
		many[i] = fmt.Sprint("x", i)
	}
	for _, pair := range [][2][]string{{many, nil}, {nil, many}, {many, a}} {
		if d := Compare(pair[0], pair[1], Options{}); !d.TooDifferent || d.Text != "" {
			t.Errorf("Compare of texts with more than %d differing lines = %+v, want TooDifferent", maxEdits, d)
		}
		if d := Compare(pair[0], pair[1], Options{}); d.Removed != len(pair[0]) || d.Added != len(pair[1]) {
			t.Errorf("Compare of %d lines with %d others = %+v, want all of them counted", len(pair[0]), len(pair[1]), d)
		}
	}
}

// apply turns the first text into the second by a difference with all lines as context.
func apply(a []string, text string) []string {
	if text == "" {
		return a
	}
	var b []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); line[0] == ' ' || line[0] == '+' {
			b = append(b, line[1:])
		}
	}
	return b
}

func FuzzCompare(f *testing.F) {
	f.Add("a\nb\nc", "a\nc")
	f.Add("", "x")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := Lines(a), Lines(b)
		d := Compare(x, y, Options{Context: 1 << 30})
		if d.TooDifferent {
			return
		}
		if got := apply(x, d.Text[strings.Index(d.Text, "\n")+1:]); !slices.Equal(got, y) {
			t.Errorf("Compare(%q, %q) = %q, which makes %q", x, y, d.Text, got)
		}
		if len(y)-len(x) != d.Added-d.Removed || (d.Text == "") != slices.Equal(x, y) {
			t.Errorf("Compare(%q, %q) = %+v, whose counts are wrong", x, y, d)
		}
		short := Compare(x, y, Options{Hunks: 2, Lines: 5})
		if strings.Count(short.Text, "\n") > 7 || short.Added != d.Added || short.Removed != d.Removed {
			t.Errorf("Compare(%q, %q) with bounds = %+v, want as many changes as %+v", x, y, short, d)
		}
	})
}

func ExampleCompare() {
	d := Compare(Lines("listen 80;\nserver_tokens on;\nroot /var/www;\n"), Lines("listen 80;\nserver_tokens off;\nroot /var/www;\n"), Options{})
	fmt.Print(d.Text)
	// Output:
	// @@ 1
	//  listen 80;
	// -server_tokens on;
	// +server_tokens off;
	//  root /var/www;
}
