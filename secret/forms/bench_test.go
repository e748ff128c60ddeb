package forms

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
)

// logs are kinds of output for floods.
func logs() map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	var list, build, tui []byte
	for i := 0; len(list) < 1<<20; i++ {
		list = fmt.Appendf(list, "-rw-r--r-- 1 root root %8d Jan %2d 12:%02d a-file-with-a-name-%x.txt\r\n", r.IntN(1<<24), i%31, i%60, r.Uint32())
		build = fmt.Appendf(build, "\x1b[32m%6d\x1b[0m compiling package/with/path-%d \x1b[1mok\x1b[0m %x\r\n", i, r.IntN(1000), r.Uint64())
		tui = fmt.Appendf(tui, "\x1b[%d;1H\x1b[32m%6d\x1b[m root\x1b[6C\x1b[1m%5.1f\x1b[m process-%d --option\x1b[K", i%40+1, i, r.Float64()*100, i%99)
	}
	return map[string][]byte{
		"list": list, "build": build, "tui": tui, "letters": []byte(strings.Repeat("y\r\n", 1<<18)),
		"words": bytes.Repeat([]byte("the password of the user was changed by an administrator of the production database\r\n"), 1<<13),
	}
}

// someValues are like those of vaults: generated, and a few that people have made.
func someValues(n int) (list []Value) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range n {
		v := fmt.Sprintf("%x-%X%x", r.Uint32(), r.Uint32(), r.Uint64())[:10+i%20]
		switch i % 5 {
		case 1:
			v = fmt.Sprintf("Passw0rd-%d!", i)
		case 2:
			v = fmt.Sprintf("correct horse %d", i)
		}
		list = append(list, Value{Text: []byte(v)})
	}
	return list
}

// BenchmarkFilter is the cost of the search, to be compared with the speed of a terminal.
func BenchmarkFilter(b *testing.B) {
	for name, log := range logs() {
		for _, n := range []int{5, 50} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				m := New(someValues(n))
				var f Filter
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				before := cpu()
				b.SetBytes(int64(len(log)))
				b.ReportAllocs()
				for b.Loop() {
					for text := log; len(text) > 0; {
						p := text[:min(len(text), 16<<10)]
						text = text[len(p):]
						f.Feed(m, p)
					}
				}
				b.ReportMetric(float64(cpu()-before)/float64(b.N)/float64(len(log)), "cpu-ns/B")
			})
		}
	}
}

// cpu returns how long this thread has run, in nanoseconds.
func cpu() int64 {
	text, _ := os.ReadFile("/proc/thread-self/schedstat") // elsewhere the figure is 0
	var ran int64
	fmt.Sscan(string(text), &ran)
	return ran
}

// BenchmarkNew is the cost of a new value among 50.
func BenchmarkNew(b *testing.B) {
	values := someValues(50)
	b.ReportAllocs()
	for b.Loop() {
		m := New(values)
		b.ReportMetric(float64(len(m.list)), "forms")
	}
}
