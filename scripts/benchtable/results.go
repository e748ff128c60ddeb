package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// A metric is one unit of one benchmark.
type metric struct{ pkg, benchmark, unit string }

// processors ends the name of a benchmark that ran on more than one.
var processors = regexp.MustCompile(`-\d+$`)

// read returns the values of all runs, in their order.
func read(r io.Reader) (map[metric][]float64, error) {
	values := make(map[metric][]float64)
	pkg := ""
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "pkg: "); ok {
			pkg = name
			continue
		}
		// The name, how often it ran, and pairs of a value and its unit.
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || len(fields)%2 != 0 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := processors.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), "")
		for i := 2; i < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", lines.Text(), err)
			}
			m := metric{pkg, name, fields[i+1]}
			values[m] = append(values[m], v)
		}
	}
	return values, lines.Err()
}
