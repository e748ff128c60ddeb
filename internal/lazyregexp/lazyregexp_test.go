package lazyregexp

import (
	"reflect"
	"regexp"
	"testing"
)

// A mistake must not wait for the first use.
func TestMistakeFailsInTests(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("New accepted (")
		}
	}()
	New("(")
}

// Outside of tests an expression is compiled when it is used, and once.
func TestCompiledAtFirstUse(t *testing.T) {
	defer func(was bool) { inTest = was }(inTest)
	inTest = false
	r := New(`a(b)?`)
	if r.re != nil {
		t.Error("New compiled the expression")
	}
	if !r.MatchString("xab") {
		t.Error("a(b)? does not match xab")
	}
	if first := r.Regexp(); r.Regexp() != first {
		t.Error("each use compiles it")
	}
}

// Each method must pass its arguments on to the one that it is named after.
func TestMethods(t *testing.T) {
	const text, s = `(?P<key>\w)=(\d)`, "a=1 b=2"
	lazy, plain := New(text), regexp.MustCompile(text)
	same := func(name string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	star := func(string) string { return "*" }
	same("Match", lazy.Match([]byte(s)), plain.Match([]byte(s)))
	same("MatchString", lazy.MatchString(s), plain.MatchString(s))
	same("Find", lazy.Find([]byte(s)), plain.Find([]byte(s)))
	same("FindString", lazy.FindString(s), plain.FindString(s))
	same("FindStringIndex", lazy.FindStringIndex(s), plain.FindStringIndex(s))
	same("FindStringSubmatch", lazy.FindStringSubmatch(s), plain.FindStringSubmatch(s))
	same("FindStringSubmatchIndex", lazy.FindStringSubmatchIndex(s), plain.FindStringSubmatchIndex(s))
	same("FindAllString", lazy.FindAllString(s, 1), plain.FindAllString(s, 1))
	same("FindAllStringIndex", lazy.FindAllStringIndex(s, -1), plain.FindAllStringIndex(s, -1))
	same("ReplaceAllString", lazy.ReplaceAllString(s, "$key"), plain.ReplaceAllString(s, "$key"))
	same("ReplaceAllLiteralString", lazy.ReplaceAllLiteralString(s, "$key"), plain.ReplaceAllLiteralString(s, "$key"))
	same("ReplaceAllStringFunc", lazy.ReplaceAllStringFunc(s, star), plain.ReplaceAllStringFunc(s, star))
	same("Split", lazy.Split(s, -1), plain.Split(s, -1))
	same("SubexpNames", lazy.SubexpNames(), plain.SubexpNames())
}
