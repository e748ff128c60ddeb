package bench

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh/knownhosts"

	"ptyctl/fsx"
	"ptyctl/sshx"
	"ptyctl/term"
)

// How fast a file is taken from a server and brought there, beside github.com/pkg/sftp on x/crypto/ssh alone, with the
// same number of requests under way.
func BenchmarkFiles(b *testing.B) {
	const size = 64 << 20
	s := startBenchServer(b)
	dir := b.TempDir()
	known := benchWrite(b, dir, "known_hosts", knownhosts.Line([]string{s.address}, s.hostKey)+"\n")
	config := benchWrite(b, dir, "ssh_config", "IdentitiesOnly yes\nIdentityFile "+s.identity+"\n")
	open := sshx.Dialer(sshx.Options{HomeDir: dir, KnownHostsPath: known, ConfigPath: config, IdentityAgent: "none"})
	transport, err := open(
		b.Context(),
		term.Target{Protocol: "ssh", Host: "127.0.0.1", Port: s.port, User: s.user, ConnectTimeout: 20 * time.Second},
		nil,
		nil,
	)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = transport.Close() }()
	channel, err := transport.(term.Subsystemer).Subsystem(b.Context(), "sftp")
	if err != nil {
		b.Fatal(err)
	}
	files, err := fsx.NewSFTP(b.Context(), channel, fsx.Limits{Read: size, Write: size})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = files.Close() }()

	c := s.dial(b)
	defer func() { _ = c.Close() }()
	raw, err := sftp.NewClient(c, sftp.UseConcurrentWrites(true))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = raw.Close() }()

	data, path := bytes.Repeat([]byte(benchLine), size/len(benchLine)+1)[:size], filepath.Join(dir, "file")
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	b.Run("write", func(b *testing.B) {
		var d benchDuel
		for b.Loop() {
			for range 8 {
				d.round(func() time.Duration {
					began := time.Now()
					_, err := files.Write(b.Context(), term.FileWrite{Path: path, Data: data})
					must(err)
					return time.Since(began)
				}, func() time.Duration {
					began := time.Now()
					f, err := raw.Create(path + ".raw")
					must(err)
					_, err = f.WriteAt(data, 0)
					must(err)
					must(f.Sync())
					must(f.Close())
					must(raw.PosixRename(path+".raw", path))
					return time.Since(began)
				})
			}
		}
		d.throughput(b, size)
	})
	b.Run("read", func(b *testing.B) {
		var d benchDuel
		into := make([]byte, size)
		for b.Loop() {
			for range 8 {
				d.round(func() time.Duration {
					began := time.Now()
					r, err := files.Read(b.Context(), term.FileRead{Path: path})
					must(err)
					if len(r.Data) != size {
						b.Fatalf("%d of %d bytes", len(r.Data), size)
					}
					return time.Since(began)
				}, func() time.Duration {
					began := time.Now()
					f, err := raw.Open(path)
					must(err)
					n, err := f.ReadAt(into, 0)
					must(err)
					must(f.Close())
					if n != size {
						b.Fatalf("%d of %d bytes", n, size)
					}
					return time.Since(began)
				})
			}
		}
		d.throughput(b, size)
	})
}
