// Package nearest finds the name that was probably meant by one that does not exist: the argument of a tool, a
// configuration key.
//
//	i := nearest.In([]string{"host", "port"}, "hots", 2, nearest.Words) // 0
package nearest

// A Measure says how far a name with another byte in one place is away. A byte more, or a byte less, is 1 away.
type Measure int

const (
	// Letters counts another byte as 1. It suits names of one word, where a typing error replaces letters.
	Letters Measure = 1
	// Words counts another byte as 2, a deletion and an insertion. It suits names of several words: one with a word
	// left out is nearer than one with another word in its place.
	Words Measure = 2
)

// In returns the index of the candidate that is nearest to name, the first of several, or -1 if every candidate is more
// than most away. The time grows with the product of the lengths, so the caller must bound the length of name.
func In(candidates []string, name string, most int, m Measure) int {
	index := -1
	for i, c := range candidates {
		if d := m.distance(c, name); d < most || d == most && index < 0 {
			most, index = d, i
		}
	}
	return index
}

// distance returns how far b is away from a. It keeps one row of the table of all pairs of their beginnings.
func (m Measure) distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			above := row[j+1]
			row[j+1] = diagonal
			if a[i] != b[j] {
				row[j+1] = min(diagonal+int(m), above+1, row[j]+1)
			}
			diagonal = above
		}
	}
	return row[len(b)]
}
