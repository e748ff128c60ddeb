package linediff

import "slices"

// script returns the edits that turn a into b, as few lines as possible, by the algorithm of Myers (An O(ND)
// Difference Algorithm, 1986). ok is false if there are more than maxEdits.
func script(a, b []string) (edits []edit, ok bool) {
	begin := 0
	for begin < len(a) && begin < len(b) && a[begin] == b[begin] {
		begin++
	}
	endA, endB := len(a), len(b)
	for endA > begin && endB > begin && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
	}
	x, y := number(a[begin:endA], b[begin:endB])
	steps, ok := shortest(x, y)
	if !ok {
		return nil, false
	}
	for i := range steps {
		steps[i].a += begin
		steps[i].b += begin
	}
	return steps, true
}

// number gives equal lines equal numbers, which are quicker to compare.
func number(a, b []string) (x, y []int) {
	ids := make(map[string]int)
	of := func(lines []string) []int {
		list := make([]int, len(lines))
		for i, line := range lines {
			id, ok := ids[line]
			if !ok {
				id = len(ids)
				ids[line] = id
			}
			list[i] = id
		}
		return list
	}
	return of(a), of(b)
}

// shortest finds a shortest path through the edit graph of x and y. For each number of edits d it keeps how far each
// diagonal k (x-y) gets with d edits, in reach[d][k+d]; the way back through them is the script.
func shortest(x, y []int) (edits []edit, ok bool) {
	if len(x) == 0 || len(y) == 0 {
		if len(x)+len(y) > maxEdits {
			return nil, false
		}
		if len(x)+len(y) > 0 {
			edits = []edit{{0, 0, len(x), len(y)}}
		}
		return edits, true
	}
	var reach [][]int32
	for d := 0; d <= min(maxEdits, len(x)+len(y)); d++ {
		row := make([]int32, 2*d+1)
		reach = append(reach, row)
		for k := -d; k <= d; k += 2 {
			i := 0
			if d > 0 {
				i, _ = before(reach[d-1], d, k)
			}
			for i < len(x) && i-k >= 0 && i-k < len(y) && x[i] == y[i-k] {
				i++
			}
			row[k+d] = int32(i)
			if i >= len(x) && i-k >= len(y) {
				return walkBack(reach, len(x), len(y)), true
			}
		}
	}
	return nil, false
}

// before returns where a path of d edits starts on the diagonal k, of the reach of d-1 edits; and whether its last
// edit is an added line.
func before(reach []int32, d, k int) (i int, added bool) {
	// reach has the diagonals from -(d-1) to d-1.
	at := func(k int) int { return int(reach[k+d-1]) }
	if k == -d || k != d && at(k-1) < at(k+1) {
		return at(k + 1), true
	}
	return at(k-1) + 1, false
}

// walkBack follows the reach from the end of both texts to their begins.
func walkBack(reach [][]int32, i, j int) []edit {
	var edits []edit
	for d := len(reach) - 1; d > 0; d-- {
		k := i - j
		start, added := before(reach[d-1], d, k)
		i, j = start, start-k // the position after the edit
		e := edit{a: i, b: j}
		if added {
			j--
			e.b, e.added = j, 1
		} else {
			i--
			e.a, e.removed = i, 1
		}
		// Edits that follow one another are one.
		if n := len(edits); n > 0 && edits[n-1].a == e.a+e.removed && edits[n-1].b == e.b+e.added {
			edits[n-1] = edit{e.a, e.b, e.removed + edits[n-1].removed, e.added + edits[n-1].added}
		} else {
			edits = append(edits, e)
		}
	}
	slices.Reverse(edits)
	return edits
}
