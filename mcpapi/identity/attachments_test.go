package identity

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"ptyctl/term"
)

// Each proof is of an attachment of its own, and nothing else is a proof: no part of one, no change of any of its
// bytes, nothing that another process has given.
func TestAttachments(t *testing.T) {
	a := NewAttachments()
	proof, other := a.New("root"), a.New("root")
	who, ok := a.Of(proof)
	if again, _ := a.Of(proof); !ok || who != again || who.String() != "person root" {
		t.Fatalf("Of(%q) = %v, %v, want the same person root each time", proof, who, ok)
	}
	if second, ok := a.Of(other); !ok || second == who {
		t.Errorf("two attachments of one name are equal")
	}
	if _, ok := NewAttachments().Of(proof); ok {
		t.Error("another process takes the proof")
	}
	raw, err := base64.RawURLEncoding.DecodeString(proof)
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		changed := []byte(string(raw))
		changed[i] ^= 1
		if _, ok := a.Of(base64.RawURLEncoding.EncodeToString(changed)); ok {
			t.Errorf("with byte %d changed it is still a proof", i)
		}
		if _, ok := a.Of(base64.RawURLEncoding.EncodeToString(raw[:i])); ok {
			t.Errorf("the first %d bytes are a proof", i)
		}
	}
	for _, text := range []string{
		"", "x", who.String(), proof + "\n", proof + "AA", " " + proof, proof + "=",
		strings.Repeat("A", 86), strings.Repeat("A", 1<<20),
	} {
		if who, ok := a.Of(text); ok || who != (term.Attachment{}) {
			t.Errorf("Of(%.50q) = %v, %v, want none", text, who, ok)
		}
	}
	shown := fmt.Sprintf("%v %+v %#v %s", who, who, who, struct{ A term.Attachment }{who})
	for _, part := range []string{
		proof, base64.RawURLEncoding.EncodeToString(raw[:nonceSize]),
		fmt.Sprintf("%x", a.sum("id", raw[:nonceSize], "person root")),
	} {
		if strings.Contains(shown, part) {
			t.Errorf("%s shows %s", shown, part)
		}
	}
}

func TestPersonName(t *testing.T) {
	for given, want := range map[string]string{
		"":                       "person",
		"root (ptyctl attach)":   "person root (ptyctl attach)",
		"agent-7":                "person agent-7",
		"a\x1b]0;x\a\r\n\u202eb": "person a]0;xb",
		"\xff\xfe":               "person",
		strings.Repeat("é", 500): "person " + strings.Repeat("é", maxPersonName),
	} {
		if got := personName(given); got != want || !utf8.ValidString(got) {
			t.Errorf("personName(%q) = %q, want %q", given, got, want)
		}
	}
}
