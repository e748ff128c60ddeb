package main

import (
	"strings"
	"testing"
)

const results = `goos: linux
pkg: ptyctl/integration/bench
BenchmarkExecWarm-2         	       1	         1.100 x-raw	         2.5 p50-ms
BenchmarkExecWarm-2         	       1	         1.300 x-raw	         2.7 p50-ms
BenchmarkExecWarm-2         	       1	         1.200 x-raw	         2.6 p50-ms
PASS
pkg: ptyctl/telnet
BenchmarkDecode/text/nvt-2  	   10000	    200 ns/op	2000.00 MB/s	 0.5000 x-copy	 0 B/op
`

func TestTable(t *testing.T) {
	values, err := read(strings.NewReader(results))
	if err != nil {
		t.Fatal(err)
	}
	list := []row{
		{"exec", programs, "ExecWarm", "x-raw", goal{most: 1.15}, "raw"},
		{"decoder", decoder, "Decode/text/nvt", "x-copy", goal{}, "copy"},
	}
	const want = `| what | median | least to greatest | goal | beside |
|---|---|---|---|---|
| exec | 1.20 | 1.10 to 1.30 | <= 1.15 | raw |
| decoder | 0.50 | 0.50 to 0.50 |  | copy |
`
	var got strings.Builder
	if err := write(&got, list, values); err != nil || got.String() != want {
		t.Errorf("the table = %s%v\nwant %s", got.String(), err, want)
	}
	got.Reset()
	err = write(&got, append(list, row{"size", programs, "Binary", "MB", goal{least: 1}, ""}), values)
	if err == nil || !strings.Contains(err.Error(), "no result for size (MB of BenchmarkBinary in "+programs+")") ||
		!strings.HasPrefix(got.String(), want+"| size | missing |") {
		t.Errorf("the table without a result = %s%v, want the row, and an error that names it", got.String(), err)
	}
}

func TestNames(t *testing.T) {
	got := names([]row{{benchmark: "B/x"}, {benchmark: "A"}, {benchmark: "B/y"}})
	if want := "^Benchmark(A|B)$"; got != want {
		t.Errorf("names = %s, want %s", got, want)
	}
}
