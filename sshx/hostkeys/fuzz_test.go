package hostkeys

import (
	"crypto/ed25519"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// fixedKey is the same in every process, because the seeds of all fuzz workers must agree.
func fixedKey() ssh.Signer {
	return signer(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), nil)
}

// FuzzKnownHosts reads any bytes as a file. The parser must not panic. A host name must not
// affect the reading. One more line must not hide or change those before it. A line added to
// any file must be found again, unless the file revokes or contradicts it.
func FuzzKnownHosts(f *testing.F) {
	key := fixedKey()
	f.Add("server "+text(key)+"\n", "server")
	f.Fuzz(func(t *testing.T, content, host string) {
		db := &database{}
		db.parse("f", content)
		for i := range db.records {
			r := &db.records[i]
			r.matches(strings.ToLower(host))
			if r.line < 1 || r.line > strings.Count(content, "\n")+1 || r.names == "" || r.keyText == "" {
				t.Fatalf("record %+v of %q", r, content)
			}
		}
		more := &database{}
		more.parse("f", content+"\nserver "+text(key)+"\n")
		if len(more.records) != len(db.records)+1 || !slices.Equal(more.records[:len(db.records)], db.records) {
			t.Fatalf("a line more made %d records of %d", len(more.records), len(db.records))
		}

		file := filepath.Join(t.TempDir(), "known_hosts")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		v, err := NewVerifier(host, 2201, nil, Options{Policy: AcceptNew, UserFiles: []string{file}})
		if err != nil {
			return
		}
		v.Algorithms(opensshOrder)
		if err := verify(t, v, key); err != nil {
			verdictOf(t, err)
			return
		}
		after := read(t, file)
		if !strings.HasPrefix(after, content) {
			t.Fatal("the old content was changed")
		}
		again, err := NewVerifier(host, 2201, nil, Options{UserFiles: []string{file}})
		if err != nil {
			t.Fatal(err)
		}
		if err := verify(t, again, key); err != nil || again.Result().Decision != Known {
			t.Fatalf("accepted as %s, and then: %v\n%q", v.Result().Decision, err, after)
		}
	})
}

// FuzzProof reads any bytes as announcements and proofs.
func FuzzProof(f *testing.F) {
	f.Add(ProveRequest([]ssh.PublicKey{fixedKey().PublicKey()}), []byte("\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, payload, answer []byte) {
		announced, err := ParseHostKeys(payload)
		if err != nil && announced != nil {
			t.Fatal("keys of a malformed announcement")
		}
		proven, err := VerifyProof(answer, []byte("id"), announced, ssh.KeyAlgoED25519)
		if len(proven) > len(announced) || err != nil && proven != nil {
			t.Fatalf("%d of %d keys proven, %v", len(proven), len(announced), err)
		}
	})
}
