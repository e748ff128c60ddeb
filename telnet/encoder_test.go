package telnet

import (
	"bytes"
	"testing"
)

func TestEncoding(t *testing.T) {
	nvt, binary, raw := encoding{enter: "\r\x00"}, encoding{enter: "\r"}, encoding{enter: "\r", raw: true}
	tests := []struct {
		name string
		code encoding
		in   string
		want string
	}{
		{"text", nvt, "show version", "show version"},
		{"enter", nvt, "a\r", "a\r\x00"},
		{"enter twice", nvt, "\r\r", "\r\x00\r\x00"},
		{"CR LF stays", nvt, "a\r\nb\n", "a\r\nb\n"},
		{"CR CR LF", nvt, "\r\r\n", "\r\x00\r\n"},
		{"IAC", nvt, "\xff\xffa\xff", "\xff\xff\xff\xffa\xff\xff"},
		{"UTF-8", nvt, "é", "é"},
		{"NUL", nvt, "a\x00", "a\x00"},
		{"enter in BINARY", binary, "a\r\xff\r\n", "a\r\xff\xff\r\n"},
		{"raw", raw, "a\r\xff\r\n\x00", "a\r\xff\r\n\x00"},
		{"CR LF for enter", encoding{enter: "\r\n"}, "a\rb\r\nc", "a\r\nb\r\nc"},
		{"LF for enter", encoding{enter: "\n"}, "a\rb\r\nc", "a\nb\r\nc"},
		{"nothing", nvt, "", ""},
		{"NUL guarded", encoding{enter: "\r\x00", nop: true}, "a\x00\x00", "a\x00\x00\xff\xf1"},
		{"no NUL to guard", encoding{enter: "\r\x00", nop: true}, "\x00a\r", "\x00a\r\x00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.code.append(nil, []byte(tt.in))
			if string(got) != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if tt.code.plain([]byte(tt.in)) && string(got) != tt.in {
				t.Error("called plain, but is not")
			}
			// For each sent length, the bytes counted as taken must have the sent part and the lacking
			// rest as their encoding.
			for sent := range len(got) + 1 {
				n, lacking := tt.code.taken([]byte(tt.in), sent)
				rest := got[sent:]
				if lacking > len(rest) {
					t.Fatalf("%d sent: %d bytes lack, %d are left", sent, lacking, len(rest))
				}
				if n < len(tt.in) { // with the bytes after it, which decide the encoding of a CR
					var whole []byte
					for i := range n {
						whole = append(whole, one(tt.code, []byte(tt.in[i:]))...)
					}
					if !bytes.Equal(whole, got[:sent+lacking]) {
						t.Errorf("%d sent: %d taken and %d lacking is %q, not %q", sent, n, lacking, whole, got[:sent+lacking])
					}
				}
			}
		})
	}
}

// one returns the encoding of the first byte of p.
func one(c encoding, p []byte) string {
	if c.clean(p) > 0 {
		return string(p[:1])
	}
	return c.special(p)
}

func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("a\r\xff\xff\x00\r\nb\xfa"), byte(3))
	f.Fuzz(func(t *testing.T, in []byte, cut byte) {
		in = in[:min(len(in), 300)] // the last check is quadratic
		for _, code := range []encoding{{enter: "\r"}, {enter: "\r\x00"}, {enter: "\r\n"}, {enter: "\n"}} {
			wire := code.append(nil, in)
			at := min(int(cut), len(wire))
			got, events := decodeAll(t, wire, code.enter == "\r", at)
			want := in
			if code.enter != "\r" { // NVT
				want = bytes.ReplaceAll(encoding{enter: code.enter, raw: true}.append(nil, in), []byte{0}, nil)
			}
			if !bytes.Equal(got, want) || len(events) > 0 {
				t.Errorf("enter %q: %q came back as %q with %q", code.enter, in, got, events)
			}
			var pieces []byte // the same through taken, for a connection that accepts one byte at a time
			for rest := in; len(rest) > 0; {
				enc := code.append(nil, rest)
				n, lacking := code.taken(rest, 1)
				if n == 0 {
					t.Fatalf("a byte sent of %q takes nothing", enc)
				}
				pieces = append(pieces, enc[:1+lacking]...)
				if n > 0 && rest[n-1] == '\r' && len(rest) > n && rest[n] == '\n' { // the LF of the pair is next
					pieces, n = append(pieces, '\n'), n+1
				}
				rest = rest[n:]
			}
			if !bytes.Equal(pieces, wire) {
				t.Errorf("in pieces %q, whole %q", pieces, wire)
			}
		}
	})
}
