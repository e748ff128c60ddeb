package nodeset

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestClusterShell compares with the answers of ClusterShell that testdata/generate has written.
func TestClusterShell(t *testing.T) {
	f, err := os.Open("testdata/clustershell")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	compared := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) != 3 {
			t.Fatalf("testdata/clustershell has the line %q, want three fields", lines.Text())
		}
		compared++
		text, folded, expanded := fields[0], fields[1], fields[2]
		names, err := Expand(text, 1000)
		if folded == "-" {
			if err == nil {
				t.Errorf("Expand(%q) = %q, want an error as in ClusterShell", text, names)
			}
			continue
		}
		if err != nil {
			t.Errorf("Expand(%q): %v, want %s", text, err, expanded)
			continue
		}
		if got := Fold(names); got != folded {
			t.Errorf("Fold(%q) = %s, want %s", text, got, folded)
		}
		want := strings.Fields(expanded)
		slices.Sort(want)
		if slices.Sort(names); !slices.Equal(names, want) {
			t.Errorf("Expand(%q) = %q, want %q", text, names, want)
		}
	}
	if compared < 100 {
		t.Errorf("testdata/clustershell has %d expressions, want at least 100", compared)
	}
}

func TestExpandOrder(t *testing.T) {
	for text, want := range map[string]string{
		"web3,web1,web3":          "web3 web1",
		"b[2,1]a, c d\te":         "b2a b1a c d e",
		"a[1-2]b[1-2]":            "a1b1 a1b2 a2b1 a2b2",
		"web[ 1 - 2 , 4 ]":        "web1 web2 web4",
		"[2001:db8::1]:22":        "[2001:db8::1]:22",
		"a@[2001:db8::1]:[1-2]":   "a@[2001:db8::1]:1 a@[2001:db8::1]:2",
		"web[999999999999999999]": "web999999999999999999",
	} {
		if names, err := Expand(text, 100); err != nil || strings.Join(names, " ") != want {
			t.Errorf("Expand(%q) = %q, %v, want %s", text, names, err, want)
		}
	}
}

// TestExpandBounds checks that a large set is refused before its names are made.
func TestExpandBounds(t *testing.T) {
	many := strings.Repeat("[0-999999999999999999]a", 20)
	for text, want := range map[string]uint64{
		"[1-999999999]":                 999999999,
		"web[1-1001]":                   1001,
		"a[1-100]b[1-100]":              10000,
		"a[1-600],b[1-600]":             1200,
		"a[0-999999999999999999/1]":     1e18,
		many:                            math.MaxUint64,
		"[0-999999999999999999],x[1-2]": 1e18,
	} {
		allocated := testing.AllocsPerRun(1, func() {
			names, err := Expand(text, 1000)
			if size, ok := errors.AsType[*SizeError](err); !ok || size.Names != want {
				t.Errorf("Expand(%.40q) = %d names, %v, want a SizeError with %d", text, len(names), err, want)
			}
		})
		if allocated > 1000 {
			t.Errorf("Expand(%.40q) allocates %v times, want at most 1000", text, allocated)
		}
	}
	for _, text := range []string{
		strings.Repeat("a", maxText+1), "a[1234567890123456789]", "a\x00", "a!b", "a&b", "a\"", "a\xff", "", " ", "a[1;2]", "web[01:20]", "a[b:f]",
	} {
		if names, err := Expand(text, 1000); err == nil {
			t.Errorf("Expand(%.40q) = %q, want an error", text, names)
		}
	}
}

func TestFoldNames(t *testing.T) {
	for want, names := range map[string][]string{
		"":                       nil,
		"a":                      {"a", "a"},
		"[2001:db8::1]:22":       {"[2001:db8::1]:22"},
		`web[1-2],"a,b","x\n"`:   {"x\n", "web2", "a,b", "web1"},
		"1234567890123456789a1":  {"1234567890123456789a1"},
		"a1b1c1d1e1f1g1h1i[1-2]": nil,
		"web[1-2,4],db1":         nil,
	} {
		if names == nil {
			continue
		}
		if got := Fold(names); got != want {
			t.Errorf("Fold(%q) = %s, want %s", names, got, want)
		}
	}
}

func TestCompare(t *testing.T) {
	want := []string{"", "1", "02", "2", "10", "a", "a1", "a01b", "a1b", "a2", "a10", "b", "web9.example.net", "web10.example.net"}
	got := slices.Clone(want)
	slices.Reverse(got)
	if slices.SortFunc(got, Compare); !slices.Equal(got, want) {
		t.Errorf("sorted by Compare: %q, want %q", got, want)
	}
	for _, a := range want {
		for _, b := range want {
			if c := Compare(a, b); c != -Compare(b, a) || (c == 0) != (a == b) {
				t.Errorf("Compare(%q, %q) = %d, and %d the other way", a, b, c, Compare(b, a))
			}
		}
	}
}

func FuzzExpand(f *testing.F) {
	lines, err := os.ReadFile("testdata/expressions")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(lines)) {
		f.Add(strings.TrimSpace(line))
	}
	f.Fuzz(func(t *testing.T, text string) {
		names, err := Expand(text, 500)
		if err != nil {
			return
		}
		folded := Fold(names)
		again, err := Expand(folded, 500)
		if err != nil {
			t.Fatalf("Expand(Fold(%q)) = Expand(%q): %v", names, folded, err)
		}
		slices.Sort(names)
		if slices.Sort(again); !slices.Equal(names, again) {
			t.Errorf("Expand(%q) = %q, want %q as before Fold", folded, again, names)
		}
		if twice := Fold(again); twice != folded {
			t.Errorf("Fold(%q) = %s, and of the same names sorted %s", names, folded, twice)
		}
	})
}

func ExampleFold() {
	names, _ := Expand("web[01-03,07].example.net, db2, db1", 1000)
	fmt.Println(len(names), Fold(names))
	// Output: 6 db[1-2],web[01-03,07].example.net
}
