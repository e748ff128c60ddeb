// Command benchtable prints the table of ptyctl's costs, from the output of go test -bench:
//
//	go test -run '^$' -bench "$(go run ./scripts/benchtable -names)" -count 3 ./integration/bench ./telnet >results
//	go run ./scripts/benchtable results
//
// A row has the median of all runs, the least and the greatest of them, the goal, and the reference that the benchmark
// itself measures in turns; without a reference the value depends on the machine alone. The exit status is 1 if a row
// has no result; it does not depend on the goals, because a machine may be busy.
package main
