package record

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"filippo.io/age"
)

// encryptedTo returns a writer that encrypts to d, and the identity that reads it.
func encryptedTo(tb testing.TB, d *disk) (io.Writer, age.Identity) {
	tb.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		tb.Fatal(err)
	}
	w, err := Encrypted(d, id.Recipient())
	if err != nil {
		tb.Fatal(err)
	}
	return w, id
}

// sealed writes an encrypted recording, with so many lines in a burst, and checks the file at each seal.
func sealed(t *testing.T, lines int) (d *disk, seals []Seal, id age.Identity) {
	t.Helper()
	d = &disk{room: -1}
	w, id := encryptedTo(t, d)
	r := New(w, Options{Sealed: func(s Seal) {
		seals = append(seals, s)
		rep, err := verify("a.cast.age", bytes.NewReader(d.Bytes()), &s, []age.Identity{id})
		if err != nil || rep.Last != s || rep.Open != 0 || rep.Ended != s.End {
			t.Errorf("Verify at seal %d = %+v, %v; want it to be the last, with nothing after it", s.Number, rep, err)
		}
	}})
	opening(r, 80, 24)
	for i := range 5 {
		r.Observe(output(fmt.Sprintf("line %d\r\n", i)))
		if i == 2 {
			r.Observe(output(strings.Repeat("much output\r\n", lines)))
		}
		time.Sleep(6 * time.Second)
	}
	r.Observe(output("last\r\n"))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return d, seals, id
}

// TestEncrypted: the part before a seal can be decrypted from then on, also if the writer is killed; and by age alone, a part
// at a time.
func TestEncrypted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, seals, id := sealed(t, 20_000)
		if n := len(seals); n < 6 || !seals[n-1].End {
			t.Fatalf("%d seals, want six or more, the last of them the end", n)
		}
		if d.syncs > len(seals) {
			t.Errorf("%d syncs for %d seals", d.syncs, len(seals))
		}
		plain, err := decrypted(bytes.NewReader(d.Bytes()), []age.Identity{id})
		if err != nil {
			t.Fatal(err)
		}
		cast, err := io.ReadAll(plain)
		if err != nil || int64(len(cast)) != seals[len(seals)-1].Bytes {
			t.Fatalf("decrypted %d bytes, %v; want %d", len(cast), err, seals[len(seals)-1].Bytes)
		}
		var apart []byte
		for n, part := range strings.Split(d.String(), partMagic)[1:] {
			plain, err := age.Decrypt(strings.NewReader(partMagic+part), id)
			if err != nil {
				t.Fatalf("part %d: %v", n+1, err)
			}
			p, err := io.ReadAll(plain)
			if err != nil {
				t.Fatalf("part %d: %v", n+1, err)
			}
			if lines := bytes.SplitAfter(p, []byte("\n")); !isSeal(lines[len(lines)-2]) {
				t.Errorf("part %d ends with %q, want a seal", n+1, lines[len(lines)-2])
			}
			apart = append(apart, p...)
		}
		if !bytes.Equal(apart, cast) {
			t.Errorf("the parts have %d bytes, and are not the recording of %d", len(apart), len(cast))
		}
		// Cut anywhere, it plays to the last seal before the cut.
		for at := 1; at < d.Len(); at += 9973 {
			in, err := NewReader(bytes.NewReader(d.Bytes()[:at]), id)
			if err != nil {
				continue // within the first part
			}
			for err == nil {
				_, err = in.Next()
			}
			if err != io.EOF {
				t.Errorf("cut at %d of %d, Next = %v, want the end", at, d.Len(), err)
			}
		}
	})
}

// TestEncryptedChanged: a changed byte, and parts that are missing or elsewhere, are found without a seal that was kept.
func TestEncryptedChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _, id := sealed(t, 500)
		parts := strings.SplitAfter(strings.ReplaceAll(d.String(), partMagic, "\x00SPLIT\x00"+partMagic), "\x00SPLIT\x00")
		for i := range parts {
			parts[i] = strings.TrimSuffix(parts[i], "\x00SPLIT\x00")
		}
		parts = parts[1:]
		check := func(what string, parts ...string) {
			t.Helper()
			rep, err := verify("a.cast.age", strings.NewReader(strings.Join(parts, "")), nil, []age.Identity{id})
			if err == nil && rep.Ended {
				t.Errorf("%s was not found: %+v", what, rep)
			}
		}
		if rep, err := verify("a", strings.NewReader(strings.Join(parts, "")), nil, []age.Identity{id}); err != nil || !rep.Ended {
			t.Fatalf("Verify = %+v, %v before a change", rep, err)
		}
		check("a missing part", append([]string{parts[0]}, parts[2:]...)...)
		check("an exchange of parts", append([]string{parts[0], parts[2], parts[1]}, parts[3:]...)...)
		check("a part that comes twice", append([]string{parts[0], parts[0]}, parts[1:]...)...)
		check("more after the end", append(slices.Clip(parts), parts[len(parts)-1])...)
		check("text after the end", append(slices.Clip(parts), "text")...)
		whole := strings.Join(parts, "")
		for at := 0; at < len(whole); at += 61 {
			changed := []byte(whole)
			changed[at] ^= 1
			check(fmt.Sprintf("a changed bit in byte %d", at), string(changed))
		}
	})
}

// TestEncryptedDiskFull: missing output is marked once there is room, and the written part can be read.
func TestEncryptedDiskFull(t *testing.T) {
	for _, room := range []int{0, 100, 900, 2000} {
		synctest.Test(t, func(t *testing.T) {
			d := &disk{room: room}
			w, id := encryptedTo(t, d)
			fill(t, d, w, 30)
			rep, err := verify("a.cast", bytes.NewReader(d.Bytes()), nil, []age.Identity{id})
			if err != nil || !rep.Ended {
				t.Fatalf("room for %d: Verify = %+v, %v", room, rep, err)
			}
			in, err := NewReader(bytes.NewReader(d.Bytes()), id)
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if err := Text(&text, in); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(text.String(), "bytes of the recording: it was not writable") || !strings.Contains(text.String(), "after") {
				t.Errorf("room for %d: no marker, or no rest, in\n%s", room, text.String())
			}
		})
	}
}
