package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	only := flag.Bool("names", false, "print the pattern of the benchmarks for go test -bench, and no table")
	flag.Parse()
	err := errors.New("usage: benchtable -names, or benchtable FILE")
	switch {
	case *only && flag.NArg() == 0:
		_, err = fmt.Println(names(rows))
	case !*only && flag.NArg() == 1:
		err = table(flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// table prints the table of the results in a file.
func table(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	values, err := read(f)
	if err != nil {
		return err
	}
	return write(os.Stdout, rows, values)
}

// names returns a pattern of all benchmarks, with all their parts.
func names(rows []row) string {
	var list []string
	for _, r := range rows {
		name, _, _ := strings.Cut(r.benchmark, "/")
		list = append(list, name)
	}
	slices.Sort(list)
	return "^Benchmark(" + strings.Join(slices.Compact(list), "|") + ")$"
}

// write prints the table. Its error names the rows without a result.
func write(w io.Writer, rows []row, values map[metric][]float64) error {
	var text strings.Builder
	var missing []string
	text.WriteString("| what | median | least to greatest | goal | beside |\n|---|---|---|---|---|\n")
	for i := range rows {
		r := &rows[i]
		v := slices.Sorted(slices.Values(values[metric{r.pkg, r.benchmark, r.unit}]))
		if len(v) == 0 {
			missing = append(missing, fmt.Sprintf("%s (%s of Benchmark%s in %s)", r.what, r.unit, r.benchmark, r.pkg))
			fmt.Fprintf(&text, "| %s | missing | | %s | %s |\n", r.what, r.goal, r.beside)
			continue
		}
		middle := (v[(len(v)-1)/2] + v[len(v)/2]) / 2
		fmt.Fprintf(&text, "| %s | %s | %s to %s | %s | %s |\n",
			r.what, number(middle), number(v[0]), number(v[len(v)-1]), r.goal, r.beside)
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		return err
	}
	if missing != nil {
		return errors.New("benchtable: no result for " + strings.Join(missing, "; "))
	}
	return nil
}

// number writes three digits, as many as a busy machine leaves sense to, and those before the point.
func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// String implements fmt.Stringer.
func (g goal) String() string {
	switch {
	case g.most > 0:
		return fmt.Sprintf("<= %g", g.most)
	case g.least > 0:
		return fmt.Sprintf(">= %g", g.least)
	}
	return ""
}
