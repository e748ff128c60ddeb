package elicit

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
)

// TestSentForm checks that a form is read as package net/url reads it, and that wipe leaves no part of it.
func TestSentForm(t *testing.T) {
	for _, answer := range []string{
		"", "hunter2", "with blank + plus % percent & and = ü \x00 日本", "%41",
		strings.Repeat("ä", 300),
	} {
		text := url.Values{"form": {"a token"}, "answer": {answer}}.Encode()
		f, err := readForm(iotest.OneByteReader(strings.NewReader(text)))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.get("answer"); string(got) != answer || string(f.get("form")) != "a token" || f.has("decline") {
			t.Errorf(
				"readForm(%q) has the answer %q, form %q, decline %t, want %q",
				text,
				got,
				f.get("form"),
				f.has("decline"),
				answer,
			)
		}
		value, body := f.get("answer"), f.body[:cap(f.body)]
		f.wipe()
		if len(bytes.Trim(value, "\x00")) > 0 || len(bytes.Trim(body, "\x00")) > 0 || f.has("answer") {
			t.Errorf("behind wipe the form still has %q of %q", body, text)
		}
	}
	for text, want := range map[string]string{
		"answer=a&answer=b": "a", "answer=%": "%", "answer=%4": "%4",
		"answer=%zz%41": "%zzA", "answer": "", "&&answer=1": "1",
	} {
		f, err := readForm(strings.NewReader(text))
		if err != nil || string(f.get("answer")) != want {
			t.Errorf("readForm(%q) has the answer %q, %v, want %q", text, f.get("answer"), err, want)
		}
	}
	if _, err := readForm(iotest.ErrReader(iotest.ErrTimeout)); err == nil {
		t.Error("a form that did not come in full was read")
	}
}
