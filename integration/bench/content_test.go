package bench

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// How fast the content of a file goes through calls of ptyctl_fs, a MiB in each, beside OpenSSH's sftp in turns. A text
// has lines, and bytes go in base64. The calls are written beforehand, and of an answer only its size is looked at: what
// a client does with JSON is not ptyctl's.
func BenchmarkContent(b *testing.B) {
	const block, blocks = 1 << 20, 16
	s := startBenchServer(b)
	dir := b.TempDir()
	cmd := benchCommand(b, s, "[fs]", "remote = true", "roots = ['"+dir+"']")
	cmd.Args[slices.Index(cmd.Args, "full")] = "compact" // as a model gets them
	p := &benchProgram{startBenchClient(b, cmd), s, cmd.Process.Pid}
	p.large.Store(true)
	peer := startBenchSFTP(b, s)
	r, err := p.call("ptyctl_session", benchOpen, s.port, s.user)
	r.must(b, err)
	source, target := filepath.Join(dir, "source"), filepath.Join(dir, "target")
	for _, tt := range []struct {
		name, encoding string
		data           []byte
	}{
		{"text", "utf-8", bytes.Repeat([]byte(benchLine), block/len(benchLine)+1)[:block]},
		{"bytes", "base64", make([]byte, block)},
	} {
		text := string(tt.data)
		if tt.encoding == "base64" {
			_, _ = rand.Read(tt.data) // never fails
			text = base64.StdEncoding.EncodeToString(tt.data)
		}
		quoted, err := json.Marshal(text)
		if err != nil {
			b.Fatal(err)
		}
		calls := make([]string, blocks)
		for i := range calls {
			calls[i] = fmt.Sprintf(
				`{"name":"ptyctl_fs","arguments":{"action":"write","session_id":%q,"path":%q,"append":%t,"encoding":%q,"data":%s}}`,
				r.SessionID, target, i > 0, tt.encoding, quoted,
			)
		}
		if err := os.WriteFile(source, bytes.Repeat(tt.data, blocks), 0o600); err != nil {
			b.Fatal(err)
		}
		duel := func(b *testing.B, program func(), sftp string) {
			var d benchDuel
			before := benchCPU(b, p.pid)
			for b.Loop() {
				for range 5 {
					d.round(func() time.Duration {
						_ = os.Remove(target)
						began := time.Now()
						program()
						return time.Since(began)
					}, func() time.Duration {
						_ = os.Remove(target)
						began := time.Now()
						peer.do(b, sftp)
						return time.Since(began)
					})
				}
			}
			d.throughput(b, block*blocks)
			gib := float64(len(d.program)) * block * blocks / (1 << 30)
			b.ReportMetric((benchCPU(b, p.pid)-before).Seconds()/gib, "cpu-s/GiB")
		}
		// Calls that a client sends without waiting keep their order, because they are about one file.
		write := func(b *testing.B, atOnce int, put string) {
			duel(b, func() {
				var awaits []func() (benchAnswer, error)
				for i := range blocks + atOnce - 1 {
					if i < blocks {
						awaits = append(awaits, p.send("tools/call", calls[i]))
					}
					if i < atOnce-1 {
						continue
					}
					if a, err := awaits[0](); err != nil || a.Result.IsError {
						b.Fatal(err, a.Result)
					}
					awaits = awaits[1:]
				}
			}, put+" "+source+" "+target)
			if got, err := os.Stat(target); err != nil || got.Size() != block*blocks {
				b.Fatalf("%s: %v, %v", target, got, err)
			}
		}
		b.Run("write/"+tt.name, func(b *testing.B) { write(b, 1, "put") })
		b.Run("write/"+tt.name+"/at once", func(b *testing.B) { write(b, 4, "put") })
		// As ptyctl does, the server answers when the file is on its disk.
		b.Run("write/"+tt.name+"/on disk", func(b *testing.B) { write(b, 1, "put -f") })
		b.Run("read/"+tt.name, func(b *testing.B) {
			duel(b, func() {
				for i := range blocks {
					a, err := p.ask("tools/call", fmt.Sprintf(
						`{"name":"ptyctl_fs","arguments":{"action":"read","session_id":%q,"path":%q,"offset":%d,"max_bytes":%d,"encoding":%q}}`,
						r.SessionID, source, i*block, block, tt.encoding,
					))
					if err != nil || a.Result.IsError || a.size < len(text) {
						b.Fatal(err, a.size)
					}
				}
			}, "get "+source+" "+target)
		})
	}
}
