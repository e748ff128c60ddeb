package fsx

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"
	"time"
)

// A script is a server with fixed answers, which records the requests.
type script struct {
	io.Reader
	sent bytes.Buffer
}

func (s *script) Write(p []byte) (int, error) { return s.sent.Write(p) }

func version(extensions ...string) []byte {
	p := binary.BigEndian.AppendUint32(nil, protocolVersion)
	for _, e := range extensions {
		p = appendString(appendString(p, e), "1")
	}
	return packet(packetVersion, p)
}

func limitsReply(of ...uint64) []byte {
	p := make([]byte, 4)
	for _, n := range of {
		p = binary.BigEndian.AppendUint64(p, n)
	}
	return packet(packetExtendedReply, p)
}

func TestExchangeVersions(t *testing.T) {
	for _, tt := range []struct {
		name   string
		server []byte
		want   int
	}{
		{"plain", version(), 32 << 10},
		{"other extensions", version("fsync@openssh.com", "statvfs@openssh.com"), 32 << 10},
		{"openssh", append(version("fsync@openssh.com", extLimits), limitsReply(256<<10, 255<<10, 255<<10, 1019)...), 255 << 10},
		{"packet", append(version(extLimits), limitsReply(64<<10, 255<<10, 255<<10, 0)...), 63 << 10},
		{"write", append(version(extLimits), limitsReply(256<<10, 255<<10, 40<<10, 0)...), 40 << 10},
		{"none", append(version(extLimits), limitsReply(0, 0, 0, 0)...), 255 << 10},
		{"too much", append(version(extLimits), limitsReply(1<<63, 1<<63, 1<<63, 0)...), 255 << 10},
		{"too little", append(version(extLimits), limitsReply(1, 1, 1, 0)...), 1 << 10},
		{"refused", append(version(extLimits), packet(101, make([]byte, 12))...), 32 << 10},
		{"cut", append(version(extLimits), limitsReply(1)...), 32 << 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &script{Reader: io.MultiReader(bytes.NewReader(tt.server), bytes.NewReader([]byte("rest")))}
			g, err := exchangeVersions(s)
			if err != nil || g.payload != tt.want {
				t.Fatalf("payload %d, want %d (%v)", g.payload, tt.want, err)
			}
			kind, content, err := readPacket(g.in)
			if err != nil || !bytes.HasPrefix(tt.server, packet(kind, content)) {
				t.Errorf("the client reads %d %q, %v", kind, content, err)
			}
			if rest, err := io.ReadAll(g.in); err != nil || string(rest) != "rest" {
				t.Errorf("and then %q, %v", rest, err)
			}
			s.sent.Reset()
			for _, p := range []string{"\x00\x00\x00\x05\x01", "\x00\x00\x00\x03the", " next"} {
				if n, err := g.out.Write([]byte(p)); n != len(p) || err != nil {
					t.Errorf("a write returns %d, %v", n, err)
				}
			}
			if s.sent.String() != "the next" {
				t.Errorf("the server is sent %q", &s.sent)
			}
		})
	}
}

func FuzzGreet(f *testing.F) {
	f.Add(version(extLimits))
	f.Add(append(version("a", extLimits), limitsReply(1, 2, 3, 4)...))
	f.Add([]byte("Welcome\r\n"))
	f.Fuzz(func(t *testing.T, server []byte) {
		g, err := exchangeVersions(&script{Reader: bytes.NewReader(server)})
		if err == nil && (g.payload < 1<<10 || g.payload > maxPayload) {
			t.Errorf("payload %d", g.payload)
		}
	})
}

func TestPace(t *testing.T) {
	var p pace
	if n := p.next(); n != firstPiece {
		t.Errorf("the first piece has %d bytes", n)
	}
	for range 20 {
		p.next()
	}
	if p.size != piece {
		t.Errorf("where it goes fast, a piece has %d bytes", p.size)
	}
	for range 20 {
		p.began = time.Now().Add(-2 * slow)
		p.next()
	}
	if p.size != leastPiece {
		t.Errorf("where it goes slowly, a piece has %d bytes", p.size)
	}
	p.rest(leastPiece - 1)
	if n := p.next(); n != leastPiece {
		t.Errorf("after a small piece at the end of an action, the next action's first piece has %d bytes, want %d", n, leastPiece)
	}
	p.rest(leastPiece)
	if n := p.next(); n != 2*leastPiece {
		t.Errorf("after a quick piece at the end of an action, the next action's first piece has %d bytes, want %d", n, 2*leastPiece)
	}
	for unit := int64(0); unit < 2<<20; unit += 99_990 {
		p := pace{unit: unit}
		for range 5 {
			if n := p.next(); n == 0 || n > p.size || unit > 0 && n > unit && n%unit != 0 {
				t.Fatalf("in units of %d, a piece has %d of %d bytes", unit, n, p.size)
			}
		}
	}
}
