package transcript

import (
	"io"
	"testing"

	"ptyctl/internal/bufpipe"
)

func TestRoundTrip(t *testing.T) {
	const text = `# a server
: term vt100
: size 80 24
< fffb01
> fffd01
! write "a b\r\xff"
= "login: \u00e9"
! eof
`
	tr, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(tr.Bytes()); got != text {
		t.Errorf("got:\n%s\nwant:\n%s", got, text)
	}
	if did := tr.Events[2].Did; len(did) != 2 || did[1] != "a b\r\xff" {
		t.Errorf("words %q", did)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"? what", "< 0", "= unquoted", "!", `! write "open`} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestRecorder(t *testing.T) {
	client, server := bufpipe.New(0)
	r := Record(client)
	r.Comment("test")
	r.Set("term", "vt100")
	r.Did("write", "hi\r")
	if _, err := r.Write([]byte("hi\r\x00")); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Write([]byte{255, 251, 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	r.Got([]byte("x"))
	const want = "# test\n: term vt100\n! write \"hi\\r\"\n> 68690d00\n< fffb01\n= \"x\"\n"
	if got := string(r.Bytes()); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
