package nodeset

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// maxNumbers is how many numbers of a name may be folded. A name with more is written as it is.
const maxNumbers = 8

// Fold returns names as a nodeset, sorted and each once. A text that is not a Name is quoted as in Go, after all
// others.
func Fold(names []string) string {
	byPattern := make(map[string][]row)
	var plain []string // the patterns, sorted later
	var quoted []string
	for _, name := range names {
		if !Name(name) {
			quoted = append(quoted, strconv.Quote(name))
			continue
		}
		pattern, numbers := cut(name)
		if _, ok := byPattern[pattern]; !ok {
			plain = append(plain, pattern)
		}
		r := make(row, len(numbers))
		for i, n := range numbers {
			r[i] = []string{n}
		}
		byPattern[pattern] = append(byPattern[pattern], r)
	}
	slices.Sort(plain)
	var parts []string
	for _, pattern := range plain {
		for _, r := range fold(byPattern[pattern]) {
			parts = append(parts, r.write(pattern))
		}
	}
	slices.Sort(quoted)
	return strings.Join(append(parts, slices.Compact(quoted)...), ",")
}

// mark replaces a number in a pattern. It begins like that of ClusterShell, so that patterns sort as there, and no
// Name has its NUL.
const mark = "%s\x00"

// cut separates a name from its numbers. Numbers that no nodeset can hold, and those in the brackets of an address,
// stay in the pattern.
func cut(name string) (pattern string, numbers []string) {
	if strings.ContainsAny(name, "[]") {
		return name, nil
	}
	var b strings.Builder
	for rest := name; rest != ""; {
		begin := strings.IndexAny(rest, "0123456789")
		if begin < 0 {
			b.WriteString(rest)
			break
		}
		end := begin
		for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
			end++
		}
		b.WriteString(rest[:begin])
		if end-begin > maxDigits || len(numbers) == maxNumbers {
			return name, nil
		}
		b.WriteString(mark)
		numbers = append(numbers, rest[begin:end])
		rest = rest[end:]
	}
	return b.String(), numbers
}

// A row is a set of names of one pattern: for each number of the pattern its possible values, sorted. The names are
// all combinations.
type row [][]string

// write returns the row as one name with brackets.
func (r row) write(pattern string) string {
	var b strings.Builder
	for i, literal := range strings.Split(pattern, mark) {
		if i > 0 {
			b.WriteString(ranges(r[i-1]))
		}
		b.WriteString(literal)
	}
	return b.String()
}

// fold joins rows that differ in one number, as long as there are any. Of the ways to go on it takes the one that
// leaves the fewest rows.
func fold(rows []row) []row {
	for {
		best := rows
		for i := range slices.Backward(rows[0]) {
			if joined := join(rows, i); len(joined) < len(best) {
				best = joined
			}
		}
		if len(best) == len(rows) {
			break
		}
		rows = best
	}
	slices.SortFunc(rows, func(a, b row) int {
		return slices.CompareFunc(a, b, func(v, w []string) int { return slices.CompareFunc(v, w, compareNumbers) })
	})
	if len(rows[0]) == 0 {
		return rows[:1] // a name without numbers, however often
	}
	return rows
}

// join joins the rows that are equal except for their number i.
func join(rows []row, i int) []row {
	var joined []row
	at := make(map[string]int, len(rows))
	for _, r := range rows {
		var key strings.Builder
		for j, values := range r {
			if j != i {
				for _, v := range values {
					key.WriteString(v + ",")
				}
				key.WriteByte(';')
			}
		}
		k, ok := at[key.String()]
		if !ok {
			k = len(joined)
			at[key.String()] = k
			joined = append(joined, slices.Clone(r))
			joined[k][i] = nil
		}
		joined[k][i] = append(joined[k][i], r[i]...)
	}
	for _, r := range joined {
		slices.SortFunc(r[i], compareNumbers)
		r[i] = slices.Compact(r[i])
	}
	return joined
}

// compareNumbers orders numbers by their width, then by their value.
func compareNumbers(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// ranges writes sorted values: 5, or [1-3,7].
func ranges(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	var parts []string
	for begin := 0; begin < len(values); {
		end := begin + 1
		for end < len(values) && follows(values[begin], values[end-1], values[end]) {
			end++
		}
		if end-begin > 1 {
			parts = append(parts, values[begin]+"-"+values[end-1])
		} else {
			parts = append(parts, values[begin])
		}
		begin = end
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// follows reports whether a range that began with first may go on from last to next. Numbers with leading zeros
// keep their width.
func follows(first, last, next string) bool {
	a, _ := digits(last)
	b, _ := digits(next)
	return b == a+1 && (len(first) == len(next) || !padded(first) && !padded(next))
}
